import { randomUUID } from 'node:crypto';
import type { Json, RunningApp } from './app.ts';
import { call } from './app.ts';
import { readEvents, type StreamEvent } from './events.ts';

export interface StubOptions {
  readonly handle: string;
  readonly workerId?: string;
  /** Over the usual manifest. */
  readonly manifest?: Readonly<Record<string, unknown>>;
  /** Use a token that was minted before. */
  readonly token?: string;
}

export interface FrameAnswer {
  readonly status: number;
  readonly type: string | undefined;
  readonly payload: Json;
}

/** A worker that does only what a test tells it to, with nothing but its token. */
export class StubWorker {
  readonly id: string;
  readonly handle: string;
  readonly token: string;
  /** Frames that came down the channel. */
  readonly heard: Json[] = [];
  private readonly base: string;
  private readonly manifest: object;
  private channel: AbortController | undefined;
  private seq = 0;
  private events = 0;

  constructor(base: string, token: string, { handle, workerId, manifest = {} }: StubOptions) {
    this.base = base;
    this.token = token;
    this.handle = handle;
    this.id = workerId ?? `wrk_${randomUUID().slice(0, 12)}`;
    this.manifest = {
      agent_id: handle,
      name: handle,
      version: '1.0.0',
      wire_protocol_version: 2,
      sdk_version: '0.4.13',
      agent_card: { name: handle, use_cases: [{ slug: 'sample_run' }] },
      ...manifest,
    };
  }

  /** The same worker, as it goes on elsewhere. */
  at(base: string): StubWorker {
    const elsewhere = new StubWorker(base, this.token, { handle: this.handle, workerId: this.id });
    elsewhere.events = this.events;
    elsewhere.seq = this.seq;
    return elsewhere;
  }

  /** Posts one frame; with `needsReply` unless told otherwise. */
  async frame(type: string, payload: object = {}, envelope: object = { needsReply: true }): Promise<FrameAnswer> {
    const body = { id: `msg_${randomUUID()}`, type, payload, ...envelope };
    const answer = await call(this.base, 'POST', `/api/v1/workers/${encodeURIComponent(this.id)}/frames`, {
      key: this.token,
      body,
    });
    return { status: answer.status, type: answer.json?.type, payload: answer.json?.payload ?? answer.json };
  }

  register(): Promise<FrameAnswer> {
    return this.frame('register', {
      manifest: this.manifest,
      skills: [],
      skills_hash: 'd41d8cd98f00b204e9800998ecf8427e',
    });
  }

  /** The job, or undefined. */
  async claim(payload: object = {}): Promise<Json> {
    return (await this.frame('run_claim', payload)).payload.job;
  }

  start(runId: string, extra: object = {}): Promise<FrameAnswer> {
    return this.frame('run_started', { run_id: runId, ...extra });
  }

  /** Numbers the events as the SDK does: one event id a run context, sequence from 1. */
  send(runId: string, events: readonly object[]): Promise<FrameAnswer> {
    const numbered = events.map((event) => ({
      event_id: `evt_${runId}`,
      event_sequence: (this.events += 1),
      timestamp: new Date().toISOString(),
      ...event,
    }));
    return this.frame('run_events', { events: numbered }, { stream: runId, seq: (this.seq += 1) - 1 });
  }

  complete(
    runId: string,
    output: object,
    extra: object = {},
    envelope: object = { needsReply: true },
  ): Promise<FrameAnswer> {
    return this.frame('run_completed', { run_id: runId, output, ...extra }, envelope);
  }

  fail(runId: string, error: string, extra: object = {}): Promise<FrameAnswer> {
    return this.frame('run_failed', { run_id: runId, error, ...extra });
  }

  /** Claims until there is a job, starts it, and answers it. */
  async serve(output: object = { text: 'done' }, events: readonly object[] = []): Promise<Json> {
    const job = await this.claimSoon();
    await this.start(job.run_id);
    if (events.length > 0) await this.send(job.run_id, events);
    await this.complete(job.run_id, output);
    return job;
  }

  async claimSoon(within = 10_000): Promise<Json> {
    for (const until = Date.now() + within; Date.now() < until; await pause(20)) {
      const job = await this.claim();
      if (job) return job;
    }
    throw new Error(`${this.id} was given nothing within ${within} ms`);
  }

  /** Opens the channel; resolves when its head is here. */
  async open(): Promise<Response> {
    this.channel?.abort();
    const controller = (this.channel = new AbortController());
    const response = await fetch(`${this.base}/api/v1/workers/${encodeURIComponent(this.id)}/channel`, {
      headers: { authorization: `Bearer ${this.token}`, accept: 'text/event-stream' },
      signal: controller.signal,
    });
    if (response.body) void this.listen(readEvents(response.body)).catch(() => {});
    return response;
  }

  /** The first frame of a type that came, or comes. */
  async hears(type: string, within = 5_000): Promise<Json> {
    for (const until = Date.now() + within; Date.now() < until; await pause(10)) {
      const index = this.heard.findIndex((frame) => frame.type === type);
      if (index >= 0) return this.heard.splice(index, 1)[0];
    }
    throw new Error(`${this.id} heard no ${type} within ${within} ms`);
  }

  close(): void {
    this.channel?.abort();
  }

  private async listen(events: AsyncGenerator<StreamEvent>): Promise<void> {
    for await (const { data } of events) this.heard.push(data);
  }
}

/** Mints a token for the handle and registers a worker with it. */
export async function startStub(
  app: Pick<RunningApp, 'url' | 'call'>,
  key: string,
  options: StubOptions,
): Promise<StubWorker> {
  const token =
    options.token ??
    (await app.call('POST', '/api/v1/agents/worker-token', { key, body: { agentId: options.handle } })).json.token;
  const worker = new StubWorker(app.url, token, options);
  const { status, payload } = await worker.register();
  if (status !== 200) throw new Error(`register answered ${status}: ${JSON.stringify(payload)}`);
  return worker;
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}
