import { Inject, Module } from '@nestjs/common';
import { ResourceKinds } from '../platform/operation/ports.ts';
import { APPROVAL_RESOURCE } from './approvals/approvals.store.ts';
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
export class GatewayModule {
  constructor(@Inject(ResourceKinds) kinds: ResourceKinds) {
    kinds.register('approval', APPROVAL_RESOURCE);
  }
}
