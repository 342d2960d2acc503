import { Injectable } from '@nestjs/common';
import { wireTime } from '../../platform/clock/clock.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { credentialView } from '../credentials/credential-view.policy.ts';
import { CredentialNotFound } from '../credentials/credentials.faults.ts';
import { findCredentialRow } from '../credentials/credentials.store.ts';
import type { bindCredential, listBindings, listCredentialsOfAgent, unbindCredential } from './bindings.contract.ts';
import { BindingNotFound, BoundAgentNotFound } from './bindings.faults.ts';
import {
  isAgent,
  listBindingRows,
  listCredentialRowsOf,
  removeBinding,
  setBinding,
  type BindingRow,
} from './bindings.store.ts';

type Binding = Out<typeof bindCredential>;

/** Which agents get which credentials. A change counts at the next claim; what was handed out stays where it is. */
@Injectable()
export class CredentialBindings {
  async list(ctx: OpContext, { credential_id }: In<typeof listBindings>): Promise<Binding[]> {
    if (!(await findCredentialRow(ctx, credential_id))) throw CredentialNotFound();
    return (await listBindingRows(ctx, credential_id)).map((row) => viewOf(credential_id, row));
  }

  /** Repeated, it only says anew whether the agent gets it on demand. */
  async bind(ctx: OpContext, { credential_id, agent_id, on_demand }: In<typeof bindCredential>): Promise<Binding> {
    const row = await setBinding(ctx, credential_id, agent_id, on_demand);
    if (!row) throw CredentialNotFound();
    ctx.note({ agent_id, on_demand });
    return viewOf(credential_id, row);
  }

  async unbind(ctx: OpContext, { credential_id, agent_id }: In<typeof unbindCredential>): Promise<void> {
    if (!(await findCredentialRow(ctx, credential_id))) throw CredentialNotFound();
    const removed = await removeBinding(ctx, credential_id, agent_id);
    if (removed.length === 0) throw BindingNotFound();
    ctx.note({ agent_id, removed });
  }

  /** @throws Fault 404 where neither an agent nor a binding has that name. */
  async ofAgent(
    ctx: OpContext,
    { agent_id }: In<typeof listCredentialsOfAgent>,
  ): Promise<Out<typeof listCredentialsOfAgent>> {
    const rows = await listCredentialRowsOf(ctx, agent_id);
    if (rows.length === 0 && !(await isAgent(ctx, agent_id))) throw BoundAgentNotFound();
    return rows.map(credentialView);
  }
}

function viewOf(credentialId: string, { agent_ref, on_demand, created_at, is_resolved }: BindingRow): Binding {
  return {
    credential_id: credentialId,
    agent_id: agent_ref,
    on_demand,
    created_at: wireTime(created_at),
    ...(is_resolved ? {} : { unresolved: ['agent_id'] }),
  };
}
