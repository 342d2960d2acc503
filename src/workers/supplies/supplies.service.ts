import { Inject, Injectable } from '@nestjs/common';
import { isJsonObject } from '../../platform/json/json.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { HAND_OUT_ACTION, SecretSupplies } from '../../vault/index.ts';
import { Presence } from '../presence/presence.service.ts';
import {
  NotConnected,
  type getBootSecrets,
  type listSlackSubscriptions,
  type reportModels,
  type requestSecrets,
  type searchKnowledge,
} from './supplies.contract.ts';
import { noteModels } from './supplies.store.ts';

/** Which worker asks; what it says beside that changes no answer yet. */
type Asking = Pick<In<typeof requestSecrets>, 'worker_id'>;

const MODELS_KEPT = 500;
const MODEL_NAME_LENGTH = 200;

/** What workers ask for beside work, and what they tell about it. Each question is a sign of life too. */
@Injectable()
export class Supplies {
  constructor(
    @Inject(Presence) private readonly presence: Presence,
    @Inject(SecretSupplies) private readonly vault: SecretSupplies,
  ) {}

  async secrets(ctx: OpContext, asking: Asking): Promise<Out<typeof requestSecrets>> {
    this.note(ctx, asking);
    const { secrets, detail, isEmpty } = await this.vault.onDemand(ctx, asking.worker_id);
    if (!isEmpty) ctx.record({ action: HAND_OUT_ACTION, target: ['agent', ctx.actor.id], outcome: 'done', detail });
    return { secrets: { ...secrets } };
  }

  /** Whoever asks names no worker: the token stands for it. */
  async bootSecrets(ctx: OpContext): Promise<Out<typeof getBootSecrets>> {
    const { secrets, detail } = await this.vault.onDemand(ctx, ctx.actor.credentialId, { textsOnly: true });
    ctx.note({ target_id: ctx.actor.id, ...detail });
    return { secrets: { ...secrets } };
  }

  async models(ctx: OpContext, input: In<typeof reportModels>): Promise<void> {
    this.note(ctx, input);
    const names = input.models.flatMap((model) => nameOf(model) ?? []).slice(0, MODELS_KEPT);
    await noteModels(ctx, input.worker_id, { base_url: input.base_url, models: names });
  }

  /** @throws Fault 404: "none for you" to the SDK. */
  async token(ctx: OpContext, asking: Asking): Promise<never> {
    this.note(ctx, asking);
    throw NotConnected();
  }

  /** @throws Fault 404. */
  async githubToken(): Promise<never> {
    throw NotConnected();
  }

  async slackSubscriptions(): Promise<Out<typeof listSlackSubscriptions>> {
    return { subscriptions: [] };
  }

  async knowledge(ctx: OpContext, asking: Asking): Promise<Out<typeof searchKnowledge>> {
    this.note(ctx, asking);
    return { code: 'kb.not_found', message: 'There is no such knowledge base', retryable: false };
  }

  async grade(ctx: OpContext, asking: Asking): Promise<Out<typeof searchKnowledge>> {
    this.note(ctx, asking);
    return { code: 'grade.not_found', message: 'There is nothing to grade', retryable: false };
  }

  private note(ctx: OpContext, { worker_id }: Asking): void {
    this.presence.heard(ctx.actor, worker_id, 'frame');
  }
}

/** Gateways list models by name, or as objects with an id. */
function nameOf(model: unknown): string | undefined {
  const name = isJsonObject(model) ? model['id'] : model;
  return typeof name === 'string' ? name.slice(0, MODEL_NAME_LENGTH).toWellFormed() : undefined;
}
