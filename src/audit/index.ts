export { AuditModule } from './audit.module.ts';
export { AuditLedger } from './ledger/ledger.service.ts';
