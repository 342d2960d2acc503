import { Module } from '@nestjs/common';
import { EvidenceModule } from '../evidence/index.ts';
import { RunsModule } from '../runs/index.ts';
import { InvokeController } from './invoke/invoke.controller.ts';
import { Invoke } from './invoke/invoke.service.ts';

@Module({ imports: [RunsModule, EvidenceModule], controllers: [InvokeController], providers: [Invoke] })
export class EntryModule {}
