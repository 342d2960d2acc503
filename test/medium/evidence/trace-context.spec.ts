import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Scene } from './scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open();
});
afterAll(() => scene.close());

const TRACE = '0af7651916cd43dd8448eb211c80319c';

describe('F-49: a caller’s trace', () => {
  it('that is not sampled hides nothing of the run, and two runs of one caller’s trace do not share their spans', async () => {
    const worker = await scene.worker();
    const runs: string[] = [];
    for (const flags of ['00', '01']) {
      const traceparent = `00-${TRACE}-b7ad6b7169203331-${flags}`;
      const { json } = await scene.app.call('POST', '/api/v1/runs', {
        key: scene.key,
        headers: { traceparent },
        body: { agent_id: worker.handle, input: {} },
      });
      const job = await worker.claimSoon();
      expect(job).toMatchObject({ run_id: json.run_id, traceparent });
      await worker.start(json.run_id);
      const span = { span_id: `span_${flags}`, trace_id: json.run_id, kind: 'tool', name: 'tool' };
      await worker.send(json.run_id, [
        { ...span, event_type: 'span.started' },
        { ...span, event_type: 'span.ended', status: 'ok' },
      ]);
      await worker.complete(json.run_id, {});
      runs.push(json.run_id);
    }
    const read = await Promise.all(runs.map((runId) => scene.get(`/api/v1/runs/${runId}/spans`)));
    expect(read.map((spans) => spans.map(({ span_id: id }: { span_id: string }) => id))).toEqual([
      ['span_00'],
      ['span_01'],
    ]);
    const details = await Promise.all(
      runs.map((runId, index) => scene.get(`/api/v1/runs/${runId}/spans/span_0${index}`)),
    );
    expect(details.map(({ trace_id: id }) => id)).toEqual(runs);
  });
});
