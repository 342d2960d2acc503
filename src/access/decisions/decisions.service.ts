import { Inject, Injectable } from '@nestjs/common';
import { CredentialWatch } from '../../identity/index.ts';
import { Database } from '../../platform/db/database.ts';
import type { Actor } from '../../platform/operation/actor.ts';
import type { Capability } from '../../platform/operation/operation.ts';
import { Decider, type Decision, type Rights } from '../../platform/operation/ports.ts';
import { isKnown } from '../capabilities/capabilities.policy.ts';
import { capabilitiesOf } from '../roles/roles.policy.ts';
import { rolesNow } from '../roles/roles.store.ts';
import { heldWithin, isWithinScopes } from './decisions.policy.ts';

const REMEMBERED_MAX = 50_000;

/**
 * Decides what an actor may do. What is not granted is refused. Agents are granted nothing: a worker token opens the
 * operations for workers and no other. What a principal holds is remembered while the watch vouches for it.
 */
@Injectable()
export class Decisions extends Decider {
  /** Replaced, not emptied: what was read before an eviction then ends in a map that nobody reads. */
  private remembered = new Map<string, ReadonlySet<string>>();

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CredentialWatch) private readonly watch: CredentialWatch,
  ) {
    super();
    watch.onChange(() => (this.remembered = new Map()));
  }

  knows(capability: Capability): boolean {
    return isKnown(capability);
  }

  async decide(actor: Actor, capability: Capability): Promise<Decision> {
    if (actor.kind !== 'person' && actor.kind !== 'service_account') return 'refuse';
    if (!isWithinScopes(capability, actor.scopes)) return 'refuse';
    return (await this.held(actor)).has(capability) ? 'allow' : 'refuse';
  }

  async rightsOf(actor: Actor): Promise<Rights> {
    const mode = 'enforce';
    if (actor.kind !== 'person' && actor.kind !== 'service_account') return { mode, capabilities: [] };
    return { mode, capabilities: [...heldWithin(await this.held(actor), actor.scopes)] };
  }

  private async held({ accountId, id }: Actor): Promise<ReadonlySet<string>> {
    const key = `${accountId}/${id}`;
    const known = this.watch.isCurrent() ? this.remembered.get(key) : undefined;
    if (known) return known;
    const { remembered } = this;
    const capabilities = capabilitiesOf(await rolesNow(this.database, accountId, id));
    const oldest = remembered.size >= REMEMBERED_MAX ? remembered.keys().next().value : undefined;
    if (oldest !== undefined) remembered.delete(oldest);
    remembered.set(key, capabilities);
    return capabilities;
  }
}
