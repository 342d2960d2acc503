import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { packedJson, takesGzip } from './packed.ts';

describe('a large answer', () => {
  it.each([
    ['gzip', true],
    ['gzip, deflate, br', true],
    ['br;q=1.0, GZIP;q=0.5', true],
    ['*', true],
    ['gzip;q=0', false],
    ['gzip; q=0.000, br', false],
    ['br', false],
    ['', false],
    [undefined, false],
  ])('is packed for whoever takes it so: %j', (accepted, takes) => {
    expect(takesGzip(accepted)).toBe(takes);
  });

  it('is the same when it is unpacked, and a short one stays as it is', async () => {
    const json = JSON.stringify(Array.from({ length: 1_000 }, (_, index) => ({ index, text: 'é' })));
    const packed = await packedJson(json);
    expect(packed && gunzipSync(packed).toString()).toBe(json);
    expect(packed?.length).toBeLessThan(json.length / 3);
    expect(await packedJson('[]')).toBeUndefined();
  });
});
