import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/index.ts';
import { VaultModule } from '../vault/index.ts';
import { ApprovalsController } from './approvals/approvals.controller.ts';
import { Approvals } from './approvals/approvals.service.ts';
import { ApprovalSweep } from './approvals/approvals.sweep.ts';

@Module({
  imports: [AgentsModule, VaultModule],
  controllers: [ApprovalsController],
  providers: [Approvals, ApprovalSweep],
  exports: [Approvals],
})
export class GatewayModule {}
