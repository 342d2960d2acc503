export { AccessModule } from './access.module.ts';
