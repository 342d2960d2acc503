import type { Json, RunningApp } from '../../support/app.ts';
import { startStub, type StubWorker } from '../../support/stub-worker.ts';

export const CREDENTIALS = '/api/v1/credentials';

/** An account that stores secrets and gives them to agents. */
export class VaultScene {
  constructor(
    readonly app: RunningApp,
    readonly account: Awaited<ReturnType<RunningApp['account']>>,
  ) {}

  call(method: Parameters<RunningApp['call']>[0], path: string, body?: unknown, key = this.account.key) {
    return this.app.call(method, path, { key, body });
  }

  /** Answers the new credential's id. */
  async store(name: string, value: string): Promise<string> {
    const { status, json, text } = await this.call('POST', CREDENTIALS, { name, value });
    if (status !== 201) throw new Error(`storing ${name} answered ${status}: ${text}`);
    return json.id;
  }

  async bind(credentialId: string, agent: string, onDemand = false): Promise<void> {
    const body = { agent_id: agent, on_demand: onDemand };
    const { status, text } = await this.call('POST', `${CREDENTIALS}/${credentialId}/bindings`, body);
    if (status !== 201) throw new Error(`binding answered ${status}: ${text}`);
  }

  /** Stores a value and binds it. */
  async give(worker: StubWorker, name: string, value: string, onDemand = false): Promise<string> {
    const id = await this.store(name, value);
    await this.bind(id, worker.handle, onDemand);
    return id;
  }

  replace(credentialId: string, value: string) {
    return this.call('PUT', `${CREDENTIALS}/${credentialId}/value`, { value });
  }

  worker(handle: string, manifest: object = {}): Promise<StubWorker> {
    return startStub(this.app, this.account.key, { handle, manifest: { ...manifest } });
  }

  async order(agent: string): Promise<string> {
    return (await this.call('POST', '/api/v1/runs', { agent_id: agent, input: { prompt: 'hi' } })).json.run_id;
  }

  /** Gives a worker a run, and answers the job. */
  async job(worker: StubWorker): Promise<Json> {
    const runId = await this.order(worker.handle);
    const { payload } = await worker.frame('run_claim');
    if (payload.job?.run_id !== runId) throw new Error(`the worker got ${JSON.stringify(payload)} and not ${runId}`);
    return payload.job;
  }

  async run(runId: string): Promise<Json> {
    return (await this.call('GET', `/api/v1/runs/${runId}`)).json;
  }

  /** What was put on record about secrets that went out. */
  handOuts(): Promise<Json[]> {
    return this.app.database.query(
      `SELECT target_kind, target_id, detail FROM audit_entry WHERE account_id = $1 AND action = 'credential.hand_out' ORDER BY at, id`,
      [this.account.accountId],
    );
  }
}
