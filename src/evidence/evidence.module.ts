import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/index.ts';
import { GatewayModule } from '../gateway/index.ts';
import { IdentityModule } from '../identity/index.ts';
import { RunsModule } from '../runs/index.ts';
import { VaultModule } from '../vault/index.ts';
import { WorkersModule } from '../workers/index.ts';
import { ArtifactsController } from './artifacts/artifacts.controller.ts';
import { Artifacts } from './artifacts/artifacts.service.ts';
import { WritingController } from './artifacts/writing.controller.ts';
import { ArtifactWriting } from './artifacts/writing.service.ts';
import { CompareController } from './compare/compare.controller.ts';
import { RunComparisons } from './compare/compare.service.ts';
import { CompletenessController } from './completeness/completeness.controller.ts';
import { CompletenessAccount } from './completeness/completeness.service.ts';
import { EventsController } from './events/events.controller.ts';
import { RunEvents } from './events/events.service.ts';
import { FlushController } from './events/flush.controller.ts';
import { Flushes } from './events/flush.service.ts';
import { EventIntake } from './events/intake.service.ts';
import { Merging } from './events/merging.service.ts';
import { LateController } from './late/late.controller.ts';
import { LateRecords } from './late/late.service.ts';
import { ReplayController } from './replay/replay.controller.ts';
import { Replays } from './replay/replay.service.ts';
import { EvidenceRetentionSweep } from './retention/retention.sweep.ts';
import { SearchController } from './search/search.controller.ts';
import { EvidenceSearch } from './search/search.service.ts';
import { SearchSweep } from './search/search.sweep.ts';
import { SkillsController } from './skills/skills.controller.ts';
import { RunSkills } from './skills/skills.service.ts';
import { LiveController } from './live/live.controller.ts';
import { AccountStreams } from './live/live.service.ts';
import { Topics } from './live/topics.service.ts';
import { SpansController } from './spans/spans.controller.ts';
import { Spans } from './spans/spans.service.ts';
import { TreeController } from './tree/tree.controller.ts';
import { RunTrees } from './tree/tree.service.ts';
import { StreamController } from './stream/stream.controller.ts';
import { RunStreams } from './stream/stream.service.ts';
import { RunTails } from './tails/tails.service.ts';
import { TailsSweep } from './tails/tails.sweep.ts';

@Module({
  imports: [IdentityModule, VaultModule, AgentsModule, GatewayModule, RunsModule, WorkersModule],
  controllers: [
    EventsController,
    FlushController,
    SpansController,
    ArtifactsController,
    WritingController,
    LateController,
    CompletenessController,
    CompareController,
    ReplayController,
    StreamController,
    TreeController,
    SearchController,
    SkillsController,
    LiveController,
  ],
  providers: [
    EventIntake,
    Flushes,
    Merging,
    RunEvents,
    Spans,
    Artifacts,
    ArtifactWriting,
    LateRecords,
    CompletenessAccount,
    RunComparisons,
    Replays,
    RunStreams,
    RunTrees,
    EvidenceSearch,
    RunSkills,
    SearchSweep,
    EvidenceRetentionSweep,
    RunTails,
    TailsSweep,
    Topics,
    AccountStreams,
  ],
  exports: [RunStreams],
})
export class EvidenceModule {}
