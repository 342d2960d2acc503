import { Global, Inject, Module } from '@nestjs/common';
import { ResourceKinds } from '../platform/operation/ports.ts';
import { WORKER_RESOURCE } from './fleet/fleet.store.ts';
import { AgentsModule, PresenceRule, UnwrittenPresence } from '../agents/index.ts';
import { GatewayModule } from '../gateway/index.ts';
import { IdentityModule } from '../identity/index.ts';
import { ClientManners } from '../platform/operation/ports.ts';
import { RunsModule } from '../runs/index.ts';
import { VaultModule } from '../vault/index.ts';
import { ActionsController } from './actions/actions.controller.ts';
import { WorkerActions } from './actions/actions.service.ts';
import { ActionSweep } from './actions/actions.sweep.ts';
import { WorkerApprovalsController } from './approvals/approvals.controller.ts';
import { WorkerApprovals } from './approvals/approvals.service.ts';
import { WorkerApprovalSweep } from './approvals/approvals.sweep.ts';
import { ChannelController } from './channel/channel.controller.ts';
import { Channels } from './channel/channel.service.ts';
import { ChannelSweep, DeadChannelSweep } from './channel/channel.sweep.ts';
import { Pings } from './channel/pings.service.ts';
import { UnackedSweep } from './channel/unacked.sweep.ts';
import { ChannelRecords } from './channel/records.service.ts';
import { WorkerConfigFramesController } from './config/config.controller.ts';
import { WorkerConfigFrames } from './config/config.service.ts';
import { WorkerConfigSweep } from './config/config.sweep.ts';
import { FleetController } from './fleet/fleet.controller.ts';
import { Fleet } from './fleet/fleet.service.ts';
import { FleetSweep } from './fleet/fleet.sweep.ts';
import { Manners } from './presence/manners.service.ts';
import { Presence } from './presence/presence.service.ts';
import { Heartbeats } from './registration/heartbeats.service.ts';
import { RegistrationController } from './registration/registration.controller.ts';
import { WorkerRegistration } from './registration/registration.service.ts';
import { SuppliesController } from './supplies/supplies.controller.ts';
import { Supplies } from './supplies/supplies.service.ts';

/** Global, because it provides ports that rooms below ask for. */
@Global()
@Module({
  imports: [IdentityModule, VaultModule, AgentsModule, GatewayModule, RunsModule],
  controllers: [
    RegistrationController,
    FleetController,
    ChannelController,
    ActionsController,
    WorkerApprovalsController,
    WorkerConfigFramesController,
    SuppliesController,
  ],
  providers: [
    Manners,
    { provide: ClientManners, useExisting: Manners },
    Presence,
    { provide: UnwrittenPresence, useExisting: Presence },
    { provide: PresenceRule, useExisting: Presence },
    WorkerRegistration,
    Heartbeats,
    Fleet,
    FleetSweep,
    Pings,
    ChannelRecords,
    Channels,
    ChannelSweep,
    DeadChannelSweep,
    UnackedSweep,
    WorkerActions,
    ActionSweep,
    WorkerApprovals,
    WorkerApprovalSweep,
    WorkerConfigFrames,
    WorkerConfigSweep,
    Supplies,
  ],
  exports: [ClientManners, Presence, UnwrittenPresence, PresenceRule, Channels, Fleet],
})
export class WorkersModule {
  constructor(@Inject(ResourceKinds) kinds: ResourceKinds) {
    kinds.register('worker', WORKER_RESOURCE);
  }
}
