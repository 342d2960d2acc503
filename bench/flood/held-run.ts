import { randomUUID } from 'node:crypto';
import { JsonClient, objectIn, stringIn, type JsonObject } from '../client/json-client.ts';
import { mintToken } from '../client/crew.ts';
import { manifestOf, messageId, NO_SKILLS, RUN_INPUT } from '../client/payloads.ts';
import type { Product } from '../stage/product.ts';
import type { HeldRun } from './orders.ts';

/** Starts `count` runs of one agent and leaves them running, each with a worker of its own that says nothing. */
export async function holdRuns(product: Product, agent: string, count: number) {
  const caller = new JsonClient(product.url, product.apiKey);
  const token = await mintToken(caller, agent);
  const worker = new JsonClient(product.url, token);
  const runs: HeldRun[] = [];
  while (runs.length < count) {
    const workerId = `flood-${randomUUID()}`;
    const ask = (type: string, payload: JsonObject) =>
      worker.call('POST', `/api/v1/workers/${workerId}/frames`, { id: messageId(), type, payload, needsReply: true });
    await ask('register', { manifest: manifestOf(agent), skills: [], skills_hash: NO_SKILLS });
    await caller.call('POST', '/api/v1/runs', { agent_id: agent, input: RUN_INPUT });
    const runId = stringIn(objectIn(objectIn(await ask('run_claim', {}), 'payload'), 'job'), 'run_id');
    await ask('run_started', { run_id: runId });
    runs.push({ runId, workerId });
  }
  caller.close();
  worker.close();
  return { token, runs };
}
