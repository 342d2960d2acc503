import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/** What a worker in a process of its own saw of its run, and of the network. */
export interface WorkerReport {
  readonly job: Readonly<Record<string, unknown>>;
  /** Status and type of each answer, in order. */
  readonly answers: readonly string[];
  /** The remote ports of every connection that the process made. */
  readonly peers: readonly number[];
  /** Whether the process listened on anything. */
  readonly listens: boolean;
  readonly environment: readonly string[];
}

interface Answer {
  readonly type?: string;
  readonly payload?: Readonly<Record<string, unknown>>;
}

const { URL: base = '', TOKEN: token = '', HANDLE: handle = '' } = process.env;
const peers = new Set<number>();
const answers: string[] = [];
let messages = 0;

subscribe('net.client.socket', (message) => {
  const { socket } = message as { readonly socket: Socket };
  socket.once('connect', () => peers.add(socket.remotePort ?? 0));
});

/** One frame, in the words of the published protocol. */
async function frame(type: string, payload: object, envelope: object = { needsReply: true }): Promise<Answer> {
  const response = await fetch(`${base}/api/v1/workers/plain-1/frames`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ id: `msg_${(messages += 1)}`, type, payload, ...envelope }),
  });
  const text = await response.text();
  const answer = (text === '' ? {} : JSON.parse(text)) as Answer;
  answers.push(`${response.status} ${answer.type ?? ''}`.trim());
  return answer;
}

async function nextJob(): Promise<Readonly<Record<string, unknown>>> {
  for (;;) {
    const { payload } = await frame('run_claim', {});
    if (payload?.['job']) return payload['job'] as Readonly<Record<string, unknown>>;
    await new Promise((done) => setTimeout(done, 50));
  }
}

const card = { name: handle, skills: [] };
const manifest = { agent_id: handle, name: handle, version: '1', wire_protocol_version: 2, agent_card: card };
await frame('register', { manifest, skills: [], skills_hash: 'd41d8cd98f00b204e9800998ecf8427e' });
await frame('secrets_request', {});
await frame('config_request', {});
const job = await nextJob();
const runId = String(job['run_id']);
await frame('run_started', { run_id: runId });
const events = [
  { event_type: 'log.created', level: 'INFO', content: 'working' },
  { event_type: 'span.started', span_id: 's', kind: 'tool', name: 'look', payload: {} },
  { event_type: 'span.ended', span_id: 's', kind: 'tool', name: 'look', status: 'ok', payload: {} },
  { event_type: 'output.updated', payload: { text: 'so far' } },
].map((event, index) => ({ event_id: job['event_id'], event_sequence: index + 1, ...event }));
await frame('run_events', { events }, { stream: runId, seq: 0 });
await frame('keep_alive', {}, {});
const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
await frame('run_completed', { run_id: runId, output: { text: 'done' }, usage });
const listens = process.getActiveResourcesInfo().includes('TCPServerWrap');
const report: WorkerReport = { job, answers, peers: [...peers], listens, environment: Object.keys(process.env) };
process.stdout.write(JSON.stringify(report));
