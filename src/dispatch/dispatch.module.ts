import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/index.ts';
import { RunsModule } from '../runs/index.ts';
import { VaultModule } from '../vault/index.ts';
import { WorkersModule } from '../workers/index.ts';
import { ClaimsController } from './claims/claims.controller.ts';
import { Claims } from './claims/claims.service.ts';
import { DeadlineSweep } from './deadlines/deadlines.sweep.ts';
import { DirectDispatch } from './direct/direct.service.ts';
import { DirectSweep } from './direct/direct.sweep.ts';
import { EndpointClient } from './direct/endpoint.client.ts';
import { Endpoints } from './direct/endpoints.service.ts';
import { DoorbellSweep } from './doorbells/doorbells.sweep.ts';
import { ExplainController } from './explain/explain.controller.ts';
import { Explain } from './explain/explain.service.ts';
import { Losses } from './losses/losses.service.ts';
import { LossSweep } from './losses/losses.sweep.ts';
import { ReportsController } from './reports/reports.controller.ts';
import { Reports } from './reports/reports.service.ts';
import { RestReportsController } from './reports/rest.controller.ts';
import { RestReports } from './reports/rest.service.ts';
import { Routing } from './routing/routing.service.ts';
import { UnreachableSweep } from './unreachable/unreachable.sweep.ts';

@Module({
  imports: [VaultModule, AgentsModule, RunsModule, WorkersModule],
  controllers: [ClaimsController, ReportsController, RestReportsController, ExplainController],
  providers: [
    Claims,
    Reports,
    RestReports,
    Routing,
    DoorbellSweep,
    UnreachableSweep,
    Losses,
    LossSweep,
    DeadlineSweep,
    Explain,
    EndpointClient,
    Endpoints,
    DirectDispatch,
    DirectSweep,
  ],
})
export class DispatchModule {}
