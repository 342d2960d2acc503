/**
 * The counting worker: a process of its own that does what the protocol asks of a worker, and writes a line at handler
 * entry. What it wrote is what the fault tests count: how often a run's side effects happened, whatever anybody says.
 */

import fs from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { chanceFrom } from './seed.ts';
import { Refused, WorkerLink, type Frame, type Json } from './worker-link.ts';
import { ORDERS_VARIABLE, type Instant, type WorkerOrders } from './worker-orders.ts';

const CLAIM_EVERY_SECONDS = 10;
const KEEP_ALIVE_SECONDS = 45;
const EVENTS_A_BATCH = 5;

interface Job {
  readonly run_id: string;
  readonly attempt: number;
  readonly input: { readonly handler_ms?: number };
}

const orders = JSON.parse(process.env[ORDERS_VARIABLE] ?? '') as WorkerOrders;
const link = new WorkerLink(orders);
const chance = chanceFrom(orders.crash?.seed ?? 0);
const leaving = new AbortController();
const held = new Map<string, AbortController>();
let doorbell = new AbortController();

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.on(signal, () => {
    leaving.abort();
    doorbell.abort();
  });
await serve();

async function serve(): Promise<void> {
  const ended = new AbortController();
  const channel = orders.hasChannel ? link.keepChannel(hear, ended.signal) : undefined;
  const keepAlive = setInterval(() => {
    if (held.size > 0) void link.tell('keep_alive', {}).catch(complain);
  }, link.milliseconds(KEEP_ALIVE_SECONDS));
  await register();
  console.log('registered');
  while (!leaving.signal.aborted) {
    doorbell = new AbortController();
    if (held.size < orders.slots && (await claimed())) continue;
    await pause(link.milliseconds(CLAIM_EVERY_SECONDS), undefined, { signal: doorbell.signal }).catch(() => undefined);
  }
  while (held.size > 0) await pause(10);
  clearInterval(keepAlive);
  ended.abort();
  await channel;
}

/** Until it is heard. */
async function register(): Promise<void> {
  const manifest = {
    agent_id: orders.handle,
    name: orders.handle,
    version: '1.0.0',
    wire_protocol_version: 2,
    max_concurrent: orders.slots,
    agent_card: { name: orders.handle, use_cases: [{ slug: 'count' }] },
  };
  await link.report('register', { manifest, skills: [], skills_hash: 'd41d8cd98f00b204e9800998ecf8427e' });
}

/** Asks for a run and begins it. False: there is none, or nobody answered. */
async function claimed(): Promise<boolean> {
  try {
    const { job } = await link.ask('run_claim', { holds: [...held.keys()] });
    if (!job) return false;
    const { run_id: runId, attempt, input } = job as Job;
    const cancelled = new AbortController();
    held.set(runId, cancelled);
    void execute({ run_id: runId, attempt, input }, cancelled.signal)
      .catch(complain)
      .finally(() => {
        held.delete(runId);
        doorbell.abort();
      });
    return true;
  } catch (error) {
    complain(error);
    if (error instanceof Refused && error.status === 404) await register();
    return false;
  }
}

async function execute({ run_id: runId, attempt, input }: Job, cancelled: AbortSignal): Promise<void> {
  const doomedAt = orders.crash && chance.next() < orders.crash.share ? chance.pick(orders.crash.at) : undefined;
  const pass = (instant: Instant): void => {
    if (instant === doomedAt) process.kill(process.pid, 'SIGKILL');
  };
  pass('claimed');
  await pause(orders.startAfterMs);
  const started = await link.report('run_started', { run_id: runId, attempt });
  if (started['accepted'] !== true) return;
  pass('started');
  fs.appendFileSync(orders.entries, `${runId} ${attempt}\n`);
  pass('entered');
  await handle(runId, attempt, input.handler_ms ?? chance.between(...orders.handlerMs), cancelled);
  pass('reporting');
  const end: [string, Json] = cancelled.aborted
    ? ['run_failed', { error: 'cancelled' }]
    : ['run_completed', { output: { worker_id: orders.workerId, attempt } }];
  await link.report(end[0], { run_id: runId, attempt, ...end[1] });
  pass('completed');
}

/** The work: some waiting, and some evidence in between. */
async function handle(runId: string, attempt: number, milliseconds: number, cancelled: AbortSignal): Promise<void> {
  const eventId = `evt_${runId}_${attempt}_${orders.workerId}`;
  const parts = orders.batches + 1;
  for (let batch = 0; batch < parts && !cancelled.aborted; batch += 1) {
    if (orders.blocks) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds / parts);
    else await pause(milliseconds / parts, undefined, { signal: cancelled }).catch(() => undefined);
    if (batch < orders.batches && !cancelled.aborted) await sendBatch(runId, attempt, eventId, batch);
  }
}

async function sendBatch(runId: string, attempt: number, eventId: string, batch: number): Promise<void> {
  const first = batch * EVENTS_A_BATCH + 1;
  const events = Array.from({ length: EVENTS_A_BATCH }, (_, index) => ({
    event_type: 'log.created',
    event_id: eventId,
    event_sequence: first + index,
    timestamp: new Date().toISOString(),
    content: `event ${first + index}`,
  }));
  try {
    await link.stream('run_events', { events, attempt }, { stream: runId, seq: batch });
  } catch (error) {
    return complain(error); // evidence that nobody took is no reason to end the work
  }
  fs.appendFileSync(orders.acknowledged, `${runId} ${eventId} ${first} ${first + EVENTS_A_BATCH - 1}\n`);
}

function hear({ id, type, payload }: Frame): void {
  const answer = { correlationId: id };
  if (type === 'work_available') doorbell.abort();
  else if (type === 'cancel') held.get(String(payload['run_id']))?.abort();
  else if (type === 'ping')
    void link.tell('pong', { nonce: payload['nonce'], sent_at: new Date().toISOString() }, answer).catch(complain);
}

function complain(error: unknown): void {
  console.error(`${new Date().toISOString()} ${String(error)}`);
}
