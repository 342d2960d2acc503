import { startApp, type AppOptions, type Json, type RunningApp } from '../../support/app.ts';
import { RestClient } from '../../support/rest.ts';
import { startStub, type StubWorker } from '../../support/stub-worker.ts';

/** An application with one account, whose owner looks at what workers say. */
export class Scene {
  readonly app: RunningApp;
  readonly key: string;
  readonly rest: RestClient;
  private handles = 0;

  private constructor(app: RunningApp, key: string) {
    this.app = app;
    this.key = key;
    this.rest = new RestClient(app.url, key);
  }

  static async open(options: AppOptions = {}): Promise<Scene> {
    const app = await startApp(options);
    const { key } = await app.account();
    return new Scene(app, key);
  }

  close(): Promise<void> {
    return this.app.stop();
  }

  /** A worker of an agent of its own. */
  worker(handle = `agent-${(this.handles += 1)}`): Promise<StubWorker> {
    return startStub(this.app, this.key, { handle });
  }

  async queue(worker: StubWorker, input: object = {}): Promise<string> {
    const { json } = await this.app.call('POST', '/api/v1/runs', {
      key: this.key,
      body: { agent_id: worker.handle, input },
    });
    return String(json.run_id);
  }

  /** A run that the worker has claimed and started. */
  async running(worker: StubWorker): Promise<string> {
    const runId = await this.queue(worker);
    const job = await worker.claimSoon();
    if (job.run_id !== runId) throw new Error(`${job.run_id} was handed out instead of ${runId}`);
    await worker.start(runId);
    return runId;
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Json> {
    const { status, json, text } = await this.app.call('GET', path, { key: this.key, headers });
    if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${text}`);
    return json;
  }

  run(runId: string): Promise<Json> {
    return this.get(`/api/v1/runs/${runId}`);
  }

  events(runId: string, query = ''): Promise<Json> {
    return this.get(`/api/v1/runs/${runId}/events?limit=1000${query}`);
  }

  spans(runId: string, query = ''): Promise<Json> {
    return this.get(`/api/v1/runs/${runId}/spans${query}`);
  }

  async late(runId: string): Promise<Json[]> {
    return this.app.database.query<Json>(
      `SELECT kind, why, attempt, worker_id, content FROM late_evidence WHERE run_id = $1 ORDER BY at, id`,
      [runId],
    );
  }

  /** Everything that is kept of a run, to be compared. */
  async kept(runId: string): Promise<Json> {
    const log = await this.app.database.query<Json>(
      `SELECT seq, type, event FROM run_log WHERE run_id = $1 ORDER BY seq`,
      [runId],
    );
    const spans = await this.app.database.query<Json>(`SELECT * FROM run_span WHERE run_id = $1 ORDER BY first_seq`, [
      runId,
    ]);
    const artifacts = await this.app.database.query<Json>(`SELECT * FROM artifact WHERE run_id = $1 ORDER BY id`, [
      runId,
    ]);
    return { run: await this.run(runId), log, spans, artifacts };
  }
}

export const log = (content: string, more: object = {}): object => ({
  event_type: 'log.created',
  content,
  level: 'INFO',
  ...more,
});
export const output = (text: string): object => ({ event_type: 'output.updated', payload: { text } });
export const started = (id: string, more: object = {}): object => ({
  event_type: 'span.started',
  span_id: id,
  kind: 'tool',
  name: id,
  payload: {},
  ...more,
});
export const ended = (id: string, more: object = {}): object => ({
  event_type: 'span.ended',
  span_id: id,
  kind: 'tool',
  name: id,
  status: 'ok',
  payload: {},
  ...more,
});
