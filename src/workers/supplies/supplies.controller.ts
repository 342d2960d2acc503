import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import {
  getBootSecrets,
  getGithubToken,
  listSlackSubscriptions,
  reportModels,
  requestAwsCredentials,
  requestGcpToken,
  requestGithubToken,
  requestGrade,
  requestPairGrade,
  requestSecrets,
  searchKnowledge,
} from './supplies.contract.ts';
import { Supplies } from './supplies.service.ts';

@Controller()
export class SuppliesController {
  constructor(@Inject(Supplies) private readonly supplies: Supplies) {}

  @Handles(requestSecrets) secrets(ctx: OpContext, input: In<typeof requestSecrets>) {
    return this.supplies.secrets(ctx, input);
  }
  @Handles(getBootSecrets) bootSecrets(ctx: OpContext) {
    return this.supplies.bootSecrets(ctx);
  }
  @Handles(reportModels) models(ctx: OpContext, input: In<typeof reportModels>) {
    return this.supplies.models(ctx, input);
  }
  @Handles(requestGithubToken) github(ctx: OpContext, input: In<typeof requestGithubToken>) {
    return this.supplies.token(ctx, input);
  }
  @Handles(getGithubToken) readGithub() {
    return this.supplies.githubToken();
  }
  @Handles(listSlackSubscriptions) slack() {
    return this.supplies.slackSubscriptions();
  }
  @Handles(requestAwsCredentials) aws(ctx: OpContext, input: In<typeof requestAwsCredentials>) {
    return this.supplies.token(ctx, input);
  }
  @Handles(requestGcpToken) gcp(ctx: OpContext, input: In<typeof requestGcpToken>) {
    return this.supplies.token(ctx, input);
  }
  @Handles(searchKnowledge) knowledge(ctx: OpContext, input: In<typeof searchKnowledge>) {
    return this.supplies.knowledge(ctx, input);
  }
  @Handles(requestGrade) grade(ctx: OpContext, input: In<typeof requestGrade>) {
    return this.supplies.grade(ctx, input);
  }
  @Handles(requestPairGrade) pairGrade(ctx: OpContext, input: In<typeof requestPairGrade>) {
    return this.supplies.grade(ctx, input);
  }
}
