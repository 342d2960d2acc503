export { EntryModule } from './entry.module.ts';
