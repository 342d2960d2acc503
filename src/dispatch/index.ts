export { DispatchModule } from './dispatch.module.ts';
