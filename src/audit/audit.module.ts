import { Global, Module } from '@nestjs/common';
import { AuditTrail } from '../platform/operation/ports.ts';
import { AuditLedger } from './ledger/ledger.service.ts';
import { AuditController } from './queries/queries.controller.ts';
import { AuditQueries } from './queries/queries.service.ts';
import { Strangers } from './strangers/strangers.service.ts';

/** What was done. Global, because the operation runner finds its port here. */
@Global()
@Module({
  controllers: [AuditController],
  providers: [AuditLedger, AuditQueries, Strangers, { provide: AuditTrail, useExisting: AuditLedger }],
  exports: [AuditLedger, AuditTrail],
})
export class AuditModule {}
