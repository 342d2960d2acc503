import { Module, type DynamicModule, type Type } from '@nestjs/common';
import { AccessModule } from './access/index.ts';
import { AgentsModule } from './agents/index.ts';
import { AuditModule } from './audit/index.ts';
import { DispatchModule } from './dispatch/index.ts';
import { EntryModule } from './entry/index.ts';
import { EvidenceModule } from './evidence/index.ts';
import { GatewayModule } from './gateway/index.ts';
import { IdentityModule } from './identity/index.ts';
import { PlatformModule, type Foundations } from './platform/platform.module.ts';
import { RunsModule } from './runs/index.ts';
import { VaultModule } from './vault/index.ts';
import { WorkersModule } from './workers/index.ts';

/** The rooms, in reading order: each one may call those above it in this list, and none below. */
@Module({})
export class AppModule {
  static on(foundations: Foundations, controllers: readonly Type[]): DynamicModule {
    return {
      module: AppModule,
      controllers: [...controllers],
      imports: [
        PlatformModule.on(foundations), // the ground
        AuditModule, // what was done
        IdentityModule, // who is calling
        AccessModule, // may they
        VaultModule, // what it may hold
        AgentsModule, // what can run
        GatewayModule, // what it may call
        RunsModule, // the life of a run
        WorkersModule, // the machines
        DispatchModule, // who runs it, until when
        EvidenceModule, // what happened
        EntryModule, // how a run is asked for
      ],
    };
  }
}
