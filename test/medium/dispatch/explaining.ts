import { expect } from '@jest/globals';
import type { Json } from '../../support/app.ts';
import { startStub, type StubWorker } from '../../support/stub-worker.ts';
import { Scene } from '../evidence/scene.ts';

/** A scene in which it is asked why runs stand as they do. */
export class Explaining {
  readonly scene: Scene;

  private constructor(scene: Scene) {
    this.scene = scene;
  }

  static async open(env: Readonly<Record<string, string>>): Promise<Explaining> {
    return new Explaining(await Scene.open({ env }));
  }

  close(): Promise<void> {
    return this.scene.close();
  }

  explain(runId: string): Promise<Json> {
    return this.scene.get(`/api/v1/runs/${runId}/explain`);
  }

  /** A worker that has asked for work, and so is one that work is given to. */
  async ready(manifest: object = {}): Promise<StubWorker> {
    const first = await this.scene.worker();
    const worker = Object.keys(manifest).length === 0 ? first : await this.colleague(first, manifest, first.id);
    await worker.claim();
    return worker;
  }

  /** Another one of the same agent. */
  colleague(worker: StubWorker, manifest: object = {}, workerId?: string): Promise<StubWorker> {
    const options = { handle: worker.handle, token: worker.token, manifest: { ...manifest } };
    return startStub(this.scene.app, this.scene.key, workerId === undefined ? options : { ...options, workerId });
  }

  async post(path: string, body: object = {}): Promise<Json> {
    const { status, json } = await this.scene.app.call('POST', path, { key: this.scene.key, body });
    expect({ path, status }).toEqual({ path, status: 200 });
    return json;
  }

  async order(worker: StubWorker, body: object): Promise<string> {
    return (await this.post('/api/v1/runs', { agent_id: worker.handle, ...body })).run_id;
  }

  act(worker: StubWorker, action: string, reason: string | null = null): Promise<Json> {
    return this.post(`/api/v1/workers/${worker.id}/actions`, { action, reason });
  }

  async policy(worker: StubWorker, body: object): Promise<void> {
    const path = `/api/v1/agents/${worker.handle}/policy`;
    const { status } = await this.scene.app.call('PUT', path, { key: this.scene.key, body });
    expect(status).toBe(200);
  }

  /** The rule that keeps the run from the worker, where nobody else takes it either. */
  async excluded(runId: string, worker: StubWorker): Promise<Json> {
    const explanation = await this.explain(runId);
    expect(explanation.reason).toMatchObject({ code: 'agent.no_eligible_worker' });
    expect(candidate(explanation, worker)).toMatchObject({ eligible: false });
    return candidate(explanation, worker).reason;
  }

  async ended(runId: string, within = 8_000): Promise<Json> {
    for (const until = Date.now() + within; Date.now() < until; await new Promise((next) => setTimeout(next, 30))) {
      const run = await this.scene.run(runId);
      if (run.finished_at !== null) return run;
    }
    throw new Error(`${runId} did not end within ${within} ms`);
  }
}

export function candidate(explanation: Json, { id }: StubWorker): Json {
  return explanation.candidates.find(({ worker_id }: Json) => worker_id === id);
}

export const seconds = (later: string, earlier: string): number => (Date.parse(later) - Date.parse(earlier)) / 1_000;

/** When time changes it. */
export const timeOf = ({ until_changed_by }: Json): string =>
  until_changed_by.find(({ kind }: Json) => kind === 'time').at;
