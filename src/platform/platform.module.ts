import { Global, Module, type DynamicModule } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, DiscoveryModule } from '@nestjs/core';
import { Bus } from './bus/bus.ts';
import { Clock } from './clock/clock.ts';
import { CONFIG, type Config } from './config/config.ts';
import { KEY_RING, type KeyRing } from './crypto/key-ring.ts';
import { DATABASE_URL, Database } from './db/database.ts';
import { PartitionSweep } from './db/partitions.ts';
import { BodyAdmission } from './http/body-admission.ts';
import { CalmAnswers } from './http/calm-answers.ts';
import { HttpFaults } from './http/faults.ts';
import { FramesTransport } from './http/frames-transport.ts';
import { HttpTransport } from './http/transport.ts';
import { SystemController } from './http/system.controller.ts';
import { SystemPages } from './http/system.service.ts';
import { IdempotencySweep } from './operation/idempotency.sweep.ts';
import { Patience } from './operation/patience.ts';
import { OperationRegistry } from './operation/registry.ts';
import { OperationRunner } from './operation/runner.ts';
import { Outbound, systemResolve } from './outbound/outbound.ts';
import { Outbox } from './outbox/outbox.ts';
import { Replica } from './replica/replica.ts';
import { Sweeper } from './sweep/sweep.ts';

/** What the process was started with. */
export interface Foundations {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly keyRing: KeyRing;
}

const GROUND = [Database, Replica, Bus, Sweeper, Outbox, Patience, PartitionSweep, IdempotencySweep];
const OPERATIONS = [BodyAdmission, OperationRegistry, OperationRunner, CalmAnswers, FramesTransport, SystemPages];

/** The ground that every room stands on. */
@Global()
@Module({})
export class PlatformModule {
  static on({ config, databaseUrl, keyRing }: Foundations): DynamicModule {
    return {
      module: PlatformModule,
      imports: [DiscoveryModule],
      controllers: [SystemController],
      providers: [
        { provide: CONFIG, useValue: config },
        { provide: DATABASE_URL, useValue: databaseUrl },
        { provide: KEY_RING, useValue: keyRing },
        { provide: Clock, useValue: new Clock(config.clockOffsetSeconds) },
        { provide: APP_INTERCEPTOR, useClass: HttpTransport },
        { provide: APP_FILTER, useClass: HttpFaults },
        { provide: Outbound, useFactory: (given: Config) => new Outbound(given, systemResolve), inject: [CONFIG] },
        ...GROUND,
        ...OPERATIONS,
      ],
      exports: [CONFIG, DATABASE_URL, KEY_RING, Clock, Outbound, ...GROUND, ...OPERATIONS],
    };
  }
}
