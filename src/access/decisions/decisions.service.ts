import { Inject, Injectable } from '@nestjs/common';
import { CredentialWatch } from '../../identity/index.ts';
import { Clock } from '../../platform/clock/clock.ts';
import { Database } from '../../platform/db/database.ts';
import type { Actor } from '../../platform/operation/actor.ts';
import type { Capability, Scope } from '../../platform/operation/operation.ts';
import { Decider, type Decision, type Rights } from '../../platform/operation/ports.ts';
import { KNOWN_CAPABILITIES, isKnown, partsOf } from '../capabilities/capabilities.policy.ts';
import { Resources } from '../resources/resources.service.ts';
import { isWithinScopes } from './decisions.policy.ts';
import { readPrincipal } from './decisions.store.ts';
import {
  WHOLE_ACCOUNT,
  explain,
  kindsAsked,
  linesOf,
  type About,
  type Explanation,
  type Line,
} from './explain.policy.ts';
import { Holdings } from './holdings.policy.ts';

const REMEMBERED_MAX = 50_000;
const NOBODY = { kind: null, is_disabled: false, mode: 'enforce', held: [], policies: [] } as const;

/**
 * Decides what an actor may do. What is not granted is refused. What a principal holds is remembered while the watch vouches
 * for it; what the objects are called and labelled is not remembered.
 */
@Injectable()
export class Decisions extends Decider {
  /** Replaced, not emptied: what was read before an eviction then ends in a map that nobody reads. */
  private remembered = new Map<string, Holdings>();

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CredentialWatch) private readonly watch: CredentialWatch,
    @Inject(Resources) private readonly resources: Resources,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
    watch.onChange(() => (this.remembered = new Map()));
  }

  knows(capability: Capability): boolean {
    return isKnown(capability);
  }

  async decide(actor: Actor, capability: Capability, scope: Scope): Promise<Decision> {
    if (!isDecidable(actor) || !isWithinScopes(capability, actor.scopes)) return 'refuse';
    const held = await this.held(actor.accountId, actor.id);
    if (held.mode !== 'enforce') return 'allow';
    return this.verdict(held, capability, scope);
  }

  async rightsOf(actor: Actor): Promise<Rights> {
    if (!isDecidable(actor)) return { mode: 'enforce', capabilities: [] };
    const held = await this.held(actor.accountId, actor.id);
    const nowMs = this.clock.monotonicMs();
    const may = (capability: string): boolean =>
      (held.mode !== 'enforce' || held.holds(capability, nowMs)) && isWithinScopes(capability, actor.scopes);
    return { mode: held.mode, capabilities: KNOWN_CAPABILITIES.filter(may) };
  }

  /**
   * Why a principal may do something, or may not: what enforcement would say of it, whatever the account's mode.
   * `resourceId` is an id or a handle; `*` asks about every object of the type, the type `account` or `*` about the account.
   */
  async explainFor(
    accountId: string,
    principalId: string,
    capability: string,
    resourceType: string,
    resourceId: string,
  ): Promise<Explanation> {
    const held = await this.held(accountId, principalId);
    const isAll = resourceType === 'account' || resourceType === '*';
    if (isAll) return explain(held, capability, WHOLE_ACCOUNT, this.clock.monotonicMs());
    const about = await this.about(held, capability, resourceType, resourceId === '*' ? undefined : resourceId);
    return explain(held, capability, about, this.clock.monotonicMs());
  }

  /** What a principal holds now, a line for each capability and scope. */
  async linesOf(accountId: string, principalId: string): Promise<Line[]> {
    return linesOf(await this.held(accountId, principalId), KNOWN_CAPABILITIES, this.clock.monotonicMs());
  }

  /**
   * Refused by name when there is nothing of the capability to hide behind; otherwise objects out of reach are as good as
   * missing, except for those who may read them.
   */
  private async verdict(held: Holdings, capability: string, scope: Scope): Promise<Decision> {
    const asked = askedAbout(capability, scope);
    if (!asked) return explain(held, capability, WHOLE_ACCOUNT, this.clock.monotonicMs()).allowed ? 'allow' : 'refuse';
    const [kind, reference] = asked;
    const about = await this.about(held, capability, kind, reference);
    const nowMs = this.clock.monotonicMs();
    if (explain(held, capability, about, nowMs).allowed) return 'allow';
    if (!held.holds(capability, nowMs)) return 'refuse';
    return (await this.mayRead(held, kind, reference)) ? 'refuse' : 'hide';
  }

  private async mayRead(held: Holdings, kind: string, reference: string): Promise<boolean> {
    const capability = kind === 'worker' ? 'agent.read' : `${kind}.read`;
    const thing = await this.resources.find(held.accountId, kind, reference);
    return thing !== undefined && explain(held, capability, { kind, thing }, this.clock.monotonicMs()).allowed;
  }

  /** Looks the object up only where it matters which one it is. */
  private async about(held: Holdings, capability: string, kind: string, reference?: string): Promise<About> {
    const blank: About = { kind, thing: undefined };
    const nowMs = this.clock.monotonicMs();
    if (reference === undefined || !held.holds(capability, nowMs)) return blank;
    if (held.wholly(capability, kindsAsked(capability, blank), nowMs)) return blank;
    return { kind, thing: await this.resources.find(held.accountId, kind, reference) };
  }

  private async held(accountId: string, principalId: string): Promise<Holdings> {
    const key = `${accountId}/${principalId}`;
    const known = this.watch.isCurrent() ? this.remembered.get(key) : undefined;
    if (known) return known;
    const { remembered } = this;
    const nowMs = this.clock.monotonicMs();
    const rows = await readPrincipal(this.database, accountId, principalId);
    const holdings = new Holdings(accountId, principalId, rows ?? NOBODY, nowMs);
    const oldest = remembered.size >= REMEMBERED_MAX ? remembered.keys().next().value : undefined;
    if (oldest !== undefined) remembered.delete(oldest);
    remembered.set(key, holdings);
    return holdings;
  }
}

function isDecidable({ kind }: Actor): boolean {
  return kind === 'person' || kind === 'service_account' || kind === 'agent';
}

/** What the capability is about, if the scope names it; otherwise what the scope does name. */
function askedAbout(capability: string, scope: Scope): readonly [kind: string, reference: string] | undefined {
  const named = Object.entries(scope);
  const [noun] = partsOf(capability);
  return named.find(([kind]) => kind === noun) ?? named[0];
}
