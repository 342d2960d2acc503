import { Inject, Injectable } from '@nestjs/common';
import { WorkerTokens } from '../../identity/index.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { invalid } from '../../platform/faults/faults.ts';
import { later, type Later } from '../../platform/operation/later.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { StoredCredentials } from '../../vault/index.ts';
import { AgentDrafts } from '../drafts/drafts.service.ts';
import type { createAgent } from './install.contract.ts';
import { commandOf, valuesOf } from './install.policy.ts';

type Answer = Out<typeof createAgent>;

/**
 * What it takes to run an agent's first worker. The token is in the answer and nowhere else, so a request whose answer was
 * lost is asked again and answered with another: the one before, which nobody has seen, is dead by then.
 */
@Injectable()
export class AgentInstalls {
  constructor(
    @Inject(WorkerTokens) private readonly tokens: WorkerTokens,
    @Inject(AgentDrafts) private readonly drafts: AgentDrafts,
    @Inject(StoredCredentials) private readonly credentials: StoredCredentials,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** @throws Fault 409 `agent.live`: its workers would lose their token. Who means that rotates it. */
  async create(ctx: OpContext, input: In<typeof createAgent>): Promise<Later<Answer>> {
    const { agentId: name, ttlSeconds, credentialRef: credential = null, anthropicApiKey: modelKey = null } = input;
    if (credential !== null && !(await this.credentials.isName(ctx, credential)))
      throw invalid(['body', 'credentialRef'], 'There is no such credential', 'unknown_reference');
    const { agentId, handle, token, hint, expiresAt, settled } = await this.tokens.issue(ctx, name, ttlSeconds ?? null);
    await this.drafts.assertNotLive(ctx, agentId);
    const install = { ...input, handle, token, url: this.address(), credential, modelKey };
    const answer = {
      command: commandOf(install),
      values: valuesOf(install),
      agentId: name,
      workerTokenHint: hint,
      expiresAt,
    };
    return later(async () => {
      await settled();
      return answer;
    });
  }

  private address(): string {
    const { publicUrl, host, port } = this.config;
    return publicUrl ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }
}
