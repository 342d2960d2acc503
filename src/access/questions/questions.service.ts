import { Inject, Injectable } from '@nestjs/common';
import { InputInvalid } from '../../platform/faults/faults.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { AccessDenied } from '../../platform/operation/runner.ts';
import { isKnown } from '../capabilities/capabilities.policy.ts';
import { RESOURCE_TYPES } from '../catalogue/catalogue.policy.ts';
import { Decisions } from '../decisions/decisions.service.ts';
import type { Line } from '../decisions/explain.policy.ts';
import { PrincipalNotFound } from '../principals/principals.faults.ts';
import { isPrincipal } from '../principals/principals.store.ts';
import type { checkAccess, effectiveAccess } from './questions.contract.ts';

const TYPES: ReadonlySet<string> = new Set(['*', ...RESOURCE_TYPES.map(({ key }) => key)]);

/** What enforcement would say, asked without doing anything. */
@Injectable()
export class Questions {
  constructor(@Inject(Decisions) private readonly decisions: Decisions) {}

  async check(ctx: OpContext, asked: In<typeof checkAccess>): Promise<Out<typeof checkAccess>> {
    const { principal_id: id, capability, resource_type: type, resource_id: resource } = asked;
    await this.mayAskAbout(ctx, id);
    const problems = [
      ...((await isPrincipal(ctx, id)) ? [] : [unknown('principal_id', 'There is no such principal')]),
      ...(isKnown(capability) ? [] : [unknown('capability', 'There is no such capability')]),
      ...(TYPES.has(type) ? [] : [unknown('resource_type', 'There is no such resource type')]),
    ];
    if (problems.length > 0) throw InputInvalid({ problems });
    const said = await this.decisions.explainFor(ctx.actor.accountId, id, capability, type, resource);
    return { allowed: said.allowed, reason: said.reason, matched_grant_id: said.grantId ?? null };
  }

  async effective(
    ctx: OpContext,
    { principal_id: id }: In<typeof effectiveAccess>,
  ): Promise<Out<typeof effectiveAccess>> {
    await this.mayAskAbout(ctx, id);
    if (!(await isPrincipal(ctx, id))) throw PrincipalNotFound();
    return (await this.decisions.linesOf(ctx.actor.accountId, id)).map(lineOf);
  }

  private async mayAskAbout({ actor }: OpContext, principalId: string): Promise<void> {
    if (principalId === actor.id) return;
    if ((await this.decisions.decide(actor, 'principal.read', {})) === 'allow') return;
    throw AccessDenied({ message: 'This needs the capability principal.read' });
  }
}

function unknown(field: string, msg: string) {
  return { loc: ['body', field], msg, type: 'unknown_reference' };
}

function lineOf({ capability, confines, source, via, grantId, roleId }: Line): Out<typeof effectiveAccess>[number] {
  const narrowest = confines.at(-1);
  return {
    capability,
    resource_type: narrowest?.kind ?? '*',
    resource_id: narrowest?.id ?? '*',
    resource_label: narrowest?.glob ?? null,
    source,
    via,
    grant_id: grantId ?? roleId ?? '',
  };
}
