import { expect } from '@jest/globals';
import type { Json } from '../../support/app.ts';
import type { FrameAnswer, StubWorker } from '../../support/stub-worker.ts';
import { Scene } from '../evidence/scene.ts';

/** A scene in which agents ask what they may do. */
export class Asking {
  readonly scene: Scene;

  private constructor(scene: Scene) {
    this.scene = scene;
  }

  static async open(env: Readonly<Record<string, string>> = {}): Promise<Asking> {
    return new Asking(await Scene.open({ env }));
  }

  close(): Promise<void> {
    return this.scene.close();
  }

  /** Asks as the SDK does; `more` over the usual question. */
  frame(worker: StubWorker, runId: string, more: object = {}): Promise<FrameAnswer> {
    return worker.frame('action_approval_requested', {
      run_id: runId,
      tool_use_id: 'toolu_1',
      tool_name: 'Bash',
      rule_id: 'rule_1',
      rule_name: 'Shell',
      arguments: { command: 'rm -r /srv/old', force: true },
      asked_by: 'Claude',
      window_seconds: 600,
      ...more,
    });
  }

  /** What a question is answered with. */
  async ask(worker: StubWorker, runId: string, more: object = {}): Promise<Json> {
    const { status, type, payload } = await this.frame(worker, runId, more);
    expect({ status, type, payload }).toMatchObject({ status: 200, type: 'action_approval_opened' });
    return payload;
  }

  show(id: string): Promise<Json> {
    return this.scene.get(`/api/v1/approvals/${id}`);
  }

  list(query: string): Promise<Json> {
    return this.scene.get(`/api/v1/approvals?${query}`);
  }

  decide(id: string, body: object, { headers = {}, key = this.scene.key }: DecideOptions = {}) {
    return this.scene.app.call('POST', `/api/v1/approvals/${id}/decide`, { key, body, headers });
  }

  /** The time of a question is over. */
  async expire(id: string): Promise<void> {
    await this.scene.app.database.query(`UPDATE approval SET expires_at = now() - interval '1 s' WHERE id = $1`, [id]);
  }

  async row(id: string): Promise<Json> {
    return (await this.scene.app.database.query(`SELECT * FROM approval WHERE id = $1`, [id]))[0];
  }
}

interface DecideOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly key?: string;
}
