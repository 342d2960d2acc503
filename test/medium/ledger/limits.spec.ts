import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { collect } from '../../support/events.ts';
import { Scene, log } from '../evidence/scene.ts';

const KiB = 1_024;
const LIMITS = { field: 2 * KiB, event: 8 * KiB, artifact: 32 * KiB, frame: 128 * KiB };

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open({
    env: {
      SIGNALBOX_FIELD_LIMIT_BYTES: String(LIMITS.field),
      SIGNALBOX_EVENT_LIMIT_BYTES: String(LIMITS.event),
      SIGNALBOX_ARTIFACT_LIMIT_BYTES: String(LIMITS.artifact),
      SIGNALBOX_FRAME_LIMIT_BYTES: String(LIMITS.frame),
      SIGNALBOX_EVIDENCE_DEPTH_LIMIT: '8',
      SIGNALBOX_JSON_DEPTH_LIMIT: '12',
    },
  });
});
afterAll(() => scene.close());

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

describe('U-10: evidence that is too large', () => {
  it('is bounded field by field, event by event and line by line; what is more is cut at the artifact’s limit and marked', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const payload = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`part${index}`, 'p'.repeat(1_500)]));
    await worker.send(runId, [
      log('f'.repeat(LIMITS.field)),
      log('g'.repeat(LIMITS.field + 1)),
      { event_type: 'log.created', content: 'many parts', payload },
      log('h'.repeat(LIMITS.artifact + 10 * KiB)),
      { event_type: 'log.created', content: 'deep', payload: { deep: nested(20) } },
    ]);
    const events = await scene.events(runId);
    expect(events).toHaveLength(5);
    expect(events[0]).toMatchObject({ content: 'f'.repeat(LIMITS.field), truncated: [] });
    expect(events.slice(1).every(({ truncated }: { truncated: unknown[] }) => truncated.length > 0)).toBe(true);
    const rows = await scene.app.database.query<{ bytes: number }>(
      'SELECT octet_length(event::text) AS bytes FROM run_log WHERE run_id = $1',
      [runId],
    );
    for (const { bytes } of rows) expect(bytes).toBeLessThan(LIMITS.event + 2 * KiB); // and what is ours about it
    const artifacts = await scene.get(`/api/v1/runs/${runId}/artifacts`);
    const sizes: number[] = [];
    for (const { artifact_id: id } of artifacts) {
      const { content } = await scene.get(`/api/v1/runs/${runId}/artifacts/${id}`);
      sizes.push(Buffer.byteLength(content));
    }
    expect(sizes).toContain(LIMITS.field + 1);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(LIMITS.artifact);
    expect(Math.max(...sizes)).toBeGreaterThan(LIMITS.artifact - 10);
    await worker.complete(runId, {});
    const stream = await collect(scene.rest.runStream(runId));
    for (const { data } of stream) expect(JSON.stringify(data).length).toBeLessThan(LIMITS.event + 2 * KiB);
  });

  it('is refused only as a whole: a frame over its limit, or a batch of too many events over REST', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    expect((await worker.send(runId, [log('x'.repeat(LIMITS.frame))])).status).toBe(413);
    const events = Array.from({ length: 1_001 }, () => ({ event_type: 'log.created' }));
    const batch = { worker_id: worker.id, events };
    const answer = await scene.app.call('POST', `/api/v1/runs/${runId}/events`, { key: worker.token, body: batch });
    expect([answer.status, answer.json.detail]).toEqual([413, expect.stringContaining('1000')]);
    expect(await scene.events(runId)).toEqual([]);
  });

  it('is nested no deeper at an entry than the limit, which the refusal names', async () => {
    const worker = await scene.worker();
    const order = (levels: number) =>
      scene.app.call('POST', '/api/v1/runs', {
        key: scene.key,
        body: { agent_id: worker.handle, input: { deep: nested(levels) } },
      });
    expect((await order(10)).status).toBe(200);
    const { status, json } = await order(11);
    expect([status, json.code, json.detail[0].msg]).toEqual([422, 'input.invalid', expect.stringContaining('12')]);
  });
});
