import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DeepJson } from './deep-json.ts';
import { depthOf } from './depth.ts';
import { alteredByItem, alteredUnder, parseEvidence, parseStrict, problemsOf, type ReadEvidence } from './parse.ts';
import { writeJson } from './write.ts';

const HOSTILE = '{"input":{"a":["\\u0000",9007199254740993,{"k\\udc00":1}],"b":1e999,"c":"\\ud800"}}';

describe('a body that must be kept exactly', () => {
  it('is read as JSON.parse reads it', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(strict(text)).toEqual({ ok: true, value: JSON.parse(text) as unknown });
      }),
    );
  });

  it('is refused with the place of each thing that would be lost', () => {
    expect(strict(HOSTILE)).toEqual({
      ok: false,
      problems: [
        { loc: ['body', 'input', 'a', 0], msg: expect.any(String), type: 'text_nul' },
        { loc: ['body', 'input', 'a', 1], msg: expect.any(String), type: 'number_inexact' },
        { loc: ['body', 'input', 'a', 2, 'k\ufffd'], msg: expect.any(String), type: 'text_lone_surrogate' },
        { loc: ['body', 'input', 'b'], msg: expect.any(String), type: 'number_inexact' },
        { loc: ['body', 'input', 'c'], msg: expect.any(String), type: 'text_lone_surrogate' },
      ],
    });
  });

  it('is refused with at most 20 problems', () => {
    const answer = strict(`[${'"\\u0000",'.repeat(1000)}1]`);
    expect(answer.ok ? [] : answer.problems).toHaveLength(20);
  });

  it.each([
    ['{"a":', 'json_invalid'],
    ['', 'json_invalid'],
    ['{"a":9007199254740993', 'json_invalid'],
    [Buffer.from([0x22, 0xff, 0x22]), 'json_invalid'],
    [`${'['.repeat(151)}${']'.repeat(151)}`, 'json_too_deep'],
    ['['.repeat(16_000_000), 'json_too_deep'],
  ])('is refused as a whole where it has no places (%#)', (body, type) => {
    expect(strict(body)).toEqual({ ok: false, problems: [{ loc: ['body'], msg: expect.any(String), type }] });
  });

  it('may be as deep as the limit, and no brackets in text count', () => {
    expect(strict(`${'['.repeat(150)}${']'.repeat(150)}`).ok).toBe(true);
    expect(strict(JSON.stringify('['.repeat(500))).ok).toBe(true);
  });

  it('keeps __proto__ and constructor as ordinary keys', () => {
    for (const text of [
      '{"__proto__":{"z":1},"constructor":2}',
      '{"__proto__":{"z":1},"constructor":2,"n":9007199254740992}',
    ]) {
      const answer = strict(text);
      expect(answer.ok && writeJson(answer.value)).toBe(text);
    }
  });
});

describe('evidence', () => {
  it('F-40: is never refused for what it contains', () => {
    const levels = `${'['.repeat(80)}${']'.repeat(80)}`;
    const events = [
      '{"text":"a\\u0000b"}',
      '{"text":"\\ud800"}',
      `{"n":${'9'.repeat(400)}}`,
      `{"deep":${levels}}`,
      '{"ok":1}',
    ];
    const read = evidence(`{"payload":{"events":[${events.join()}]}}`);
    expect(read.value).toEqual({
      payload: {
        events: [
          { text: 'a\ufffdb' },
          { text: '\ufffd' },
          { n: '9'.repeat(400) },
          { deep: JSON.parse(levels) as unknown },
          { ok: 1 },
        ],
      },
    });
    expect([...alteredByItem(read.altered, ['payload', 'events'])]).toEqual([
      [0, ['text']],
      [1, ['text']],
      [2, ['n']],
    ]);
    expect(read.depth).toBe(84);
  });

  it('has nothing altered where nothing was', () => {
    const read = evidence('{"payload":{"events":[{"a":[0.1,1e-7,"\\ud83d\\ude00","\\\\u0000"]}]}}');
    expect(read.altered).toEqual([]);
    expect(alteredByItem(read.altered, ['payload', 'events']).size).toBe(0);
  });

  it('keeps no NUL, no half pair and no rounded integer, whatever was sent', () => {
    const unit = fc.oneof(
      fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
      fc.constant('\0'),
    );
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: unit }), (value) => {
        const text = JSON.stringify(value);
        const read = evidence(text);
        expect(writeJson(read.value).isWellFormed()).toBe(true);
        expect(writeJson(read.value)).not.toMatch(/(?<!\\)(\\\\)*\\u(0000|d[89a-f])/);
        expect(read.altered.length === 0).toBe(writeJson(read.value) === JSON.stringify(JSON.parse(text)));
        expect(evidence(writeJson(read.value)).altered).toEqual([]);
      }),
    );
  });

  it('is refused when it is not JSON', () => {
    for (const text of ['{"a":', '{"a":"\\u0000"', '[1e999', `${'['.repeat(1000)}`]) {
      expect(parseEvidence(Buffer.from(text))).toMatchObject({
        ok: false,
        problems: [{ loc: ['body'], type: 'json_invalid' }],
      });
    }
  });

  it('F-44: is small in memory however deep it is', () => {
    const levels = 4_000_000;
    const { value, depth } = evidence(`{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`);
    expect(depth).toBe(levels + 1);
    expect(depthOf(value)).toBe(depth);
    expect(writeJson(value)).toHaveLength(2 * levels + 6);
    let inner: unknown = (value as { a: unknown }).a;
    for (let level = 2; level <= 128; level += 1) inner = (inner as unknown[])[0];
    expect(inner).toBeInstanceOf(DeepJson);
  });

  it('marks every altered item, exactly or as a whole', () => {
    const items = 12_000;
    const item = '{"a":{"b":"\\u0000"},"c":["\\u0000","\\u0000"]}';
    const { altered } = evidence(`{"payload":{"events":[${Array<string>(items).fill(item).join()}]}}`);
    const marks = alteredByItem(altered, ['payload', 'events']);
    expect(marks.size).toBe(items);
    expect(marks.get(0)).toEqual(['a.b', 'c[0]', 'c[1]']);
    expect(marks.get(items - 1)).toEqual(['']);
    expect(altered.length).toBeLessThan(2 * items);
  });

  it('names altered places below a path, keys that would be misread in brackets', () => {
    const { altered } = evidence(
      '{"payload":{"output":{"a.b":"\\u0000","x\\u0000":"\\u0000","":[[1e999]]}},"id":"\\u0000"}',
    );
    expect(alteredUnder(altered, ['payload', 'output'])).toEqual(['["a.b"]', '["x\ufffd"]', '[""][0][0]']);
    expect(alteredUnder(altered, [])).toContain('id');
    expect(alteredUnder(evidence('"\\u0000"').altered, [])).toEqual(['']);
  });

  it('turns into the problems of a strict body where it turns out to be no evidence', () => {
    const answer = strict(HOSTILE);
    expect(problemsOf(evidence(HOSTILE).altered)).toEqual(answer.ok ? [] : answer.problems);
  });

  it('shows no megabytes of a key', () => {
    const { altered } = evidence(`{"${'k'.repeat(1_000_000)}":"\\u0000"}`);
    expect(alteredUnder(altered, [])[0]?.length).toBeLessThan(300);
    expect(JSON.stringify(problemsOf(altered)).length).toBeLessThan(500);
  });
});

function strict(body: string | Buffer): ReturnType<typeof parseStrict> {
  return parseStrict(Buffer.from(body), { maxDepth: 150 });
}

function evidence(text: string): ReadEvidence {
  const read = parseEvidence(Buffer.from(text));
  if (!read.ok) throw new Error('Evidence was refused');
  return read;
}
