import type { Json } from '../support/app.ts';
import { exchange, newToken, type Answer, type Asked } from './exchange.ts';

/** An agent with a worker that has registered. */
export interface Agent {
  readonly handle: string;
  readonly id: string;
  readonly token: string;
  readonly workerId: string;
}

interface Account {
  readonly accountId: string;
  readonly ownerId: string;
  readonly key: string;
}

export interface RecordedRun {
  readonly runId: string;
  readonly spanId: string;
  readonly artifactId: string;
}

/** A service account's API key. */
export interface ServiceKey {
  readonly id: string;
  readonly key: string;
  readonly principalId: string;
}

interface CallOptions extends Pick<Asked, 'key' | 'headers'> {
  /** The body, to be serialized; or as it is. */
  readonly json?: unknown;
  readonly raw?: string;
}

const FRAMES = '/api/v1/workers';
/** Over the limit of one field (64 KiB), so that it becomes an artifact. */
const LARGE_TEXT = 'an artifact is born '.repeat(5_000);

/** Makes the objects of one account by what public clients and workers do, and remembers their names. */
export class Tenant {
  readonly accountId: string;
  readonly ownerId: string;
  readonly key: string;
  /** What nobody in another account may ever read. */
  readonly names = new Set<string>();
  private readonly base: string;

  constructor(base: string, { accountId, ownerId, key }: Account) {
    this.base = base;
    this.accountId = accountId;
    this.ownerId = ownerId;
    this.key = key;
  }

  call(method: string, path: string, { key = this.key, headers = {}, json, raw }: CallOptions = {}): Promise<Answer> {
    const body = json === undefined ? raw : JSON.stringify(json);
    return exchange(this.base, { method, path, key, headers, body });
  }

  /** As `call`, for what must succeed. */
  async ask(method: string, path: string, json?: unknown): Promise<Json> {
    const { status, text, json: answer } = await this.call(method, path, { json });
    if (status < 200 || status > 299) throw new Error(`${method} ${path} answered ${status}: ${text}`);
    return answer;
  }

  /** Sends a frame of the agent's worker; its answer's payload, where it has one. */
  async frame(
    { token, workerId }: Pick<Agent, 'token' | 'workerId'>,
    type: string,
    payload: unknown,
    needsReply = true,
  ): Promise<Json> {
    const stream = needsReply
      ? {}
      : {
          stream: (payload as { readonly events?: readonly { readonly run_id: string }[] }).events?.[0]?.run_id,
          seq: 0,
        };
    const envelope = { id: `msg_${newToken(16)}`, type, payload, ...(needsReply ? { needsReply } : stream) };
    const { status, text, json } = await this.call('POST', `${FRAMES}/${workerId}/frames`, {
      key: token,
      json: envelope,
    });
    if (status !== 200 && status !== 202) throw new Error(`the frame ${type} answered ${status}: ${text}`);
    return json?.payload;
  }

  /** The cookie of a new session of the owner. */
  async signIn(): Promise<string> {
    const { headers } = await this.call('POST', '/auth/session/exchange');
    return headers.get('set-cookie')?.split(';')[0] ?? '';
  }

  /** A worker token for a handle whose agent never came. */
  async token(handle = `sweep-${newToken()}`): Promise<Pick<Agent, 'handle' | 'token' | 'workerId'>> {
    const { token } = await this.ask('POST', '/api/v1/agents/worker-token', { agentId: handle });
    return { handle, token, workerId: this.remember(`wrk_${newToken()}`) };
  }

  async agent(): Promise<Agent> {
    const { handle, token, workerId } = await this.token();
    const { agent_id: id } = await this.frame({ token, workerId }, 'register', manifestOf(handle));
    return { handle: this.remember(handle), id: this.remember(id), token, workerId };
  }

  /** A skill that the agent's worker has brought along. */
  async skill(agent: Agent): Promise<string> {
    const skill = { skill_id: this.remember(`sk-${newToken()}`), name: 'looking', content: 'Look.', md5: newToken() };
    await this.frame(agent, 'register', { ...manifestOf(agent.handle), skills: [skill], skills_hash: skill.md5 });
    return skill.skill_id;
  }

  async run(agent: Agent, input: unknown = { prompt: 'walk the operations' }): Promise<string> {
    const { run_id: runId } = await this.ask('POST', '/api/v1/runs', { agent_id: agent.handle, input });
    return this.remember(runId);
  }

  /** A run that the agent's worker has claimed. */
  async claimedRun(agent: Agent): Promise<string> {
    const runId = await this.run(agent);
    const { job } = await this.frame(agent, 'run_claim', {});
    if (job?.run_id !== runId) throw new Error(`the worker got ${JSON.stringify(job)} and not ${runId}`);
    return runId;
  }

  async startedRun(agent: Agent): Promise<string> {
    const runId = await this.claimedRun(agent);
    await this.frame(agent, 'run_started', { run_id: runId });
    return runId;
  }

  /** A run with a span, and with an event that said more than an event holds. */
  async recordedRun(agent: Agent): Promise<RecordedRun> {
    const runId = await this.startedRun(agent);
    const spanId = this.remember(`span_${newToken(16)}`);
    await this.frame(agent, 'run_events', eventsOf(runId, spanId), false);
    const artifacts = await this.ask('GET', `/api/v1/runs/${runId}/artifacts`);
    return { runId, spanId, artifactId: this.remember(artifacts[0].artifact_id) };
  }

  async serviceKey(roleIds: readonly string[]): Promise<ServiceKey> {
    const name = `Key ${newToken()}`;
    const {
      id,
      key,
      principal_id: principalId,
    } = await this.ask('POST', '/api/v1/api-keys', { name, role_ids: roleIds });
    return { id: this.remember(id), key, principalId: this.remember(principalId) };
  }

  private remember(name: string): string {
    this.names.add(name);
    return name;
  }
}

/** What a worker of the public SDK sends first, as small as it may be. */
export function manifestOf(handle: string) {
  const manifest = {
    agent_id: handle,
    name: handle,
    version: '1.0.0',
    wire_protocol_version: 2,
    sdk_version: '0.4.13',
  };
  return { manifest, skills: [], skills_hash: 'd41d8cd98f00b204e9800998ecf8427e' };
}

/** Events of one run context, as the SDK numbers them. */
export function eventsOf(runId: string, spanId: string) {
  const common = { event_id: `evt_${newToken()}`, trace_id: runId, source: 'sdk', metadata: {} };
  return {
    events: [
      {
        ...common,
        event_sequence: 1,
        event_type: 'span.started',
        kind: 'tool',
        name: 'search',
        span_id: spanId,
        payload: { args: { q: 'x' } },
      },
      {
        ...common,
        event_sequence: 2,
        event_type: 'log.created',
        level: 'INFO',
        logger: 'agentops',
        content: 'found',
        payload: { text: LARGE_TEXT },
      },
      {
        ...common,
        event_sequence: 3,
        event_type: 'span.ended',
        kind: 'tool',
        name: 'search',
        span_id: spanId,
        status: 'ok',
        payload: { result: 7 },
      },
    ].map((event) => ({ ...event, run_id: runId })),
  };
}
