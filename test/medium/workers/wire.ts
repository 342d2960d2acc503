import { once } from 'node:events';
import http from 'node:http';
import type { Json, RunningApp } from '../../support/app.ts';
import { StubWorker, type FrameAnswer } from '../../support/stub-worker.ts';

export interface Account {
  readonly accountId: string;
  readonly key: string;
}

/** Mints a worker token for a handle. */
export async function tokenFor(app: RunningApp, { key }: Account, handle: string): Promise<string> {
  const { status, json } = await app.call('POST', '/api/v1/agents/worker-token', { key, body: { agentId: handle } });
  if (status !== 200) throw new Error(`No token: ${status} ${JSON.stringify(json)}`);
  return json.token;
}

/** A worker with a fresh token, which has said nothing yet. */
export async function workerOf(
  app: RunningApp,
  account: Account,
  handle: string,
  workerId?: string,
): Promise<StubWorker> {
  const token = await tokenFor(app, account, handle);
  return new StubWorker(app.url, token, workerId === undefined ? { handle } : { handle, workerId });
}

/** A manifest as SDK 0.4.13 sends it, cut to what matters here. */
export function manifestOf(agentId: string, more: object = {}): object {
  return {
    agent_id: agentId,
    name: agentId,
    version: '1.0.0',
    agent_card: { name: agentId, use_cases: [{ slug: 'sample_run' }] },
    wire_protocol_version: 2,
    sdk_version: '0.4.13',
    ...more,
  };
}

/** Registers with a manifest of the test's own. */
export function register(worker: StubWorker, manifest: object, more: object = {}): Promise<FrameAnswer> {
  return worker.frame('register', { manifest, skills: [], skills_hash: 'd41d8cd98f00b204e9800998ecf8427e', ...more });
}

/** A manifest as SDK 0.1 sends it: with nulls, with its skills at first, and without a version of the protocol. */
export function firstManifestOf(agentId: string, more: object = {}): object {
  return {
    ...{ agent_id: agentId, name: agentId, description: '', version: '0.0.1', owner: '', repo: '', source_path: '' },
    ...{
      source_commit: null,
      source_dirty: null,
      model: null,
      labels: {},
      tools: [],
      default_input: {},
      input_schema: {},
    },
    ...{ agent_card: { name: agentId, skills: [], use_cases: [{ slug: 'sample_run' }] }, triggers: [], skills: null },
    endpoint_url: 'http://127.0.0.1:8010',
    ...more,
  };
}

/** One heartbeat of SDK 0.1. */
export function beat(
  app: Pick<RunningApp, 'call'>,
  { id, token, handle }: Pick<StubWorker, 'id' | 'token' | 'handle'>,
  agent: unknown = firstManifestOf(handle),
  headers: Readonly<Record<string, string>> = {},
) {
  const body = { worker_id: id, agent };
  return app.call('PUT', `/api/v1/workers/${encodeURIComponent(id)}/heartbeat`, { key: token, body, headers });
}

/** A frame that wants no reply. */
export function tell(worker: StubWorker, type: string, payload: object = {}): Promise<FrameAnswer> {
  return worker.frame(type, payload, {});
}

/** Opens a channel on a connection of its own, and shows every byte of it. */
export async function openChannel(
  url: string,
  { id, token }: Pick<StubWorker, 'id' | 'token'>,
): Promise<OpenedChannel> {
  const request = http.request(`${url}/api/v1/workers/${encodeURIComponent(id)}/channel`, {
    agent: false,
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
  });
  request.end();
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  return new OpenedChannel(response, request);
}

/** A channel as its reader has it. */
export class OpenedChannel {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  isOver = false;
  text = '';
  private readonly response: http.IncomingMessage;
  private readonly request: http.ClientRequest;

  constructor(response: http.IncomingMessage, request: http.ClientRequest) {
    this.response = response;
    this.request = request;
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    response.setEncoding('utf8').on('data', (chunk: string) => (this.text += chunk));
    response.on('error', () => {}); // 'close' follows
    response.once('close', () => (this.isOver = true));
  }

  /** The frames that came, each of which must be an event of its own named `frame`. */
  of(type: string): Json[] {
    const events = this.text.split('\n\n').filter((event) => event.startsWith('event: frame\ndata: '));
    const frames: Json[] = events.map((event) => JSON.parse(event.slice('event: frame\ndata: '.length)));
    return frames.filter((frame) => frame.type === type);
  }

  /** The events that came, as SDK 0.1 reads them. */
  events(): { readonly event: string; readonly data: Json }[] {
    return [...this.text.matchAll(/^event: (.*)\ndata: (.*)\n\n/gm)].map(([, event = '', data = '']) => ({
      event,
      data: JSON.parse(data),
    }));
  }

  /** Stops reading: what comes stays in the kernel's buffers and then in the server's. */
  pause(): void {
    this.response.pause();
  }

  close(): void {
    this.request.destroy();
  }
}
