import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { z } from 'zod';
import type { Operation } from '../../src/platform/operation/operation.ts';
import type { Sample, Sampled } from '../support/samples/sample.ts';
import { DocumentJudge, judgeOfPayload, type Judge } from './documents.ts';
import { exchange, requestOf, withRawBody, type Answer, type Asked } from './exchange.ts';
import { NOT_JSON, fieldsOf, heavy, otherKinds, tooDeep, unstorable, wrongKinds, type HostileBody } from './hostile.ts';
import { Stage, rightfulKey, samplesWhere } from './stage.ts';

/** Read like evidence, so that a number ends no worker; but text must be kept as it was sent. */
const REGISTRATIONS = ['workers.register', 'workers.beat'];

let stage: Stage;
let servedJudge: DocumentJudge;

beforeAll(async () => {
  stage = await Stage.open();
  servedJudge = new DocumentJudge(await stage.document());
});
afterAll(() => stage.app.stop());

describe.each(samplesWhere(({ input }) => input.body !== undefined))('U-32: %s', (_id, sampled) => {
  const { op } = sampled;
  const isEvidence = op.evidence === true && !REGISTRATIONS.includes(op.id);

  test('refuses what is no JSON, at body, as json_invalid', async () => {
    const { sample, key } = await preparedOnce(sampled);
    const asked = requestOf(op, sample, key);
    for (const text of NOT_JSON) {
      const answer = await exchange(stage.app.url, { ...asked, body: text });
      expect({ text, ...refusalOf(answer) }).toEqual({
        text,
        status: 422,
        code: 'input.invalid',
        at: [['body']],
        types: ['json_invalid'],
      });
    }
  });

  test('refuses a body of another kind, and the lack of one where it is required', async () => {
    const { sample, key, judge } = await preparedOnce(sampled);
    for (const value of [[], [{}], 'text', 42, true, null].filter((one) => judge(one).length > 0)) {
      const answer = await exchange(stage.app.url, withRawBody(op, sample, { key, body: JSON.stringify(value) }));
      expect({ value, status: answer.status, part: refusalOf(answer).at[0]?.[0] }).toEqual({
        value,
        status: 422,
        part: 'body',
      });
    }
    if (!op.http || op.input.body?.safeParse(undefined).success) return;
    const { body: _, ...without } = requestOf(op, sample, key);
    for (const asked of [without, { ...without, body: '' }]) {
      const answer = await exchange(stage.app.url, asked);
      expect({ sent: 'nothing', ...refusalOf(answer), part: refusalOf(answer).at[0]?.[0] }).toMatchObject({
        status: 422,
        part: 'body',
      });
    }
  });

  test('refuses every field of a kind that its document does not allow, at that field', async () => {
    const { sample, key, judge } = await preparedOnce(sampled);
    for (const hostile of wrongKinds(objectIn(sample), fieldsOf(op), judge)) {
      if (isEvidence && hostile.what.endsWith('[[]]')) continue; // a batch is not refused for one of its events
      const answer = await sendRaw(sampled, sample, { key, hostile });
      expect({ sent: hostile.what, status: answer.status, isAtField: isAtField(answer, hostile) }).toEqual({
        sent: hostile.what,
        status: 422,
        isAtField: true,
      });
    }
  });

  test('takes every kind that its document allows without breaking', async () => {
    const { sample, key, judge } = await prepared(sampled);
    for (const hostile of otherKinds(objectIn(sample), fieldsOf(op), judge)) {
      const { status } = await sendRaw(sampled, sample, { key, hostile });
      expect({ sent: hostile.what, isOurs: status >= 500 }).toEqual({ sent: hostile.what, isOurs: false });
    }
  });

  test(
    isEvidence
      ? 'is never refused for text or numbers that cannot be kept as they are'
      : 'refuses text and numbers that cannot be kept as they are, at their place',
    async () => {
      const { sample, key, judge } = await (isEvidence ? prepared : preparedOnce)(sampled);
      for (const hostile of unstorable(objectIn(sample), fieldsOf(op), judge)) {
        if (isLenient(op, hostile)) continue;
        const answer = await sendRaw(sampled, sample, { key, hostile });
        if (isEvidence)
          expect({ sent: hostile.what, isRefused: [413, 422].includes(answer.status) }).toEqual({
            sent: hostile.what,
            isRefused: false,
          });
        else
          expect({ sent: hostile.what, status: answer.status, isAtField: isAtField(answer, hostile) }).toEqual({
            sent: hostile.what,
            status: 422,
            isAtField: true,
          });
      }
    },
  );

  test('survives depth, size and names that mean something to the language', async () => {
    const { sample, key, judge } = await prepared(sampled);
    for (const hostile of heavy(objectIn(sample), fieldsOf(op), judge)) {
      await sendRaw(sampled, sample, { key, hostile });
      expect(({} as Readonly<Record<string, unknown>>)['polluted']).toBeUndefined();
    }
    const { sample: fresh, key: freshKey } = await prepared(sampled); // what went through may have changed who calls
    const answer = await sendRaw(sampled, fresh, { key: freshKey, hostile: tooDeep(objectIn(fresh)) });
    if (op.http && !op.evidence) expect(refusalOf(answer)).toMatchObject({ status: 422, types: ['json_too_deep'] });
  });

  test('415: takes JSON only', async () => {
    const { sample, key } = await preparedOnce(sampled);
    const asked = requestOf(op, sample, key);
    for (const type of [
      'text/plain',
      'application/xml',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/octet-stream',
    ]) {
      const { status, json } = await exchange(stage.app.url, { ...asked, headers: { 'content-type': type } });
      expect({ type, status, code: json?.code }).toEqual({ type, status: 415, code: 'input.unsupported_type' });
    }
  });
});

describe.each(samplesWhere(({ http, input }) => http !== undefined && input.path !== undefined))(
  'U-32: %s',
  (_id, sampled) => {
    test('takes any text for an id: it is missing or not acceptable, and breaks nothing', async () => {
      const { sample, key } = await prepared(sampled);
      for (const name of Object.keys(sample.path ?? {})) {
        for (const text of [
          '\u0000',
          'a\u0000b',
          'x'.repeat(990),
          '../../etc/passwd',
          `' OR 1=1 --`,
          '💥',
          '%',
          '\ufffe',
          '__proto__',
          '{run_id}',
          ' ',
          '\n',
          '\u0085',
        ]) {
          const answer = await exchange(
            stage.app.url,
            requestOf(sampled.op, { ...sample, path: { ...sample.path, [name]: text } }, key),
          );
          if (answer.status === 422)
            expect({ text, part: refusalOf(answer).at[0]?.[0] }).toEqual({ text, part: 'path' });
        }
      }
      for (const broken of ['%', '%zz', '%C3%28', '%ED%A0%80']) {
        const asked = requestOf(sampled.op, sample, key);
        const [first = ''] = Object.values(sample.path ?? {});
        const { status } = await exchange(stage.app.url, {
          ...asked,
          path: asked.path.replace(encodeURIComponent(first), broken),
        });
        expect({ broken, isRefused: status >= 400 && status < 500 }).toEqual({ broken, isRefused: true });
      }
    });
  },
);

describe.each(samplesWhere(({ http, input }) => http !== undefined && input.query !== undefined))(
  'U-32: %s',
  (_id, sampled) => {
    test('refuses what a parameter of the query cannot be, at that parameter, and breaks on nothing', async () => {
      const { sample, key } = await prepared(sampled);
      for (const name of Object.keys(sampled.op.input.query?.shape ?? {})) {
        for (const text of [
          '',
          '-1',
          '0',
          '1.5',
          '1e99',
          'NaN',
          '999999999999999999999',
          '\u0000',
          'x'.repeat(5_000),
          '💥',
          `' OR 1=1 --`,
          '2026-13-45T00:00:00Z',
          'bogus',
        ]) {
          const answer = await exchange(
            stage.app.url,
            requestOf(sampled.op, { ...sample, query: { ...sample.query, [name]: text } }, key),
          );
          const { status, at } = refusalOf(answer);
          if (status >= 400 && status !== 404)
            // an id may be of nothing, in the query too
            expect({ text, status, places: [...new Set(at.map((loc) => loc.slice(0, 2).join('.')))] }).toEqual({
              text,
              status: 422,
              places: [`query.${name}`],
            });
        }
        const asked: Asked = requestOf(sampled.op, { ...sample, query: {} }, key);
        await exchange(stage.app.url, { ...asked, path: `${asked.path}?${name}=1&${name}=2&${name}[a]=3` });
      }
    });
  },
);

describe.each(samplesWhere(({ http, input }) => http !== undefined && input.headers !== undefined))(
  'U-32: %s',
  (_id, sampled) => {
    test('refuses what a header cannot be, at that header', async () => {
      const { sample, key } = await preparedOnce(sampled);
      for (const [name, schema] of Object.entries(sampled.op.input.headers?.shape ?? {})) {
        const texts = ['-1', '1.5', '1e99', 'bogus', '9'.repeat(40), 'x'.repeat(5_000)];
        const refused = texts.filter((text) => !(schema as z.ZodType).safeParse(text).success);
        expect(refused).not.toEqual([]);
        for (const text of refused) {
          const answer = await exchange(stage.app.url, {
            ...requestOf(sampled.op, sample, key),
            headers: { [name]: text },
          });
          expect({ text, ...refusalOf(answer) }).toMatchObject({ text, status: 422, at: [['headers', name]] });
        }
      }
    });
  },
);

test('after all that the process still serves', async () => {
  const { status, json } = await stage.home.call('GET', '/readyz');
  expect({ status, ready: json.status }).toEqual({ status: 200, ready: 'ready' });
});

/** Where neither rule of what cannot be kept speaks. */
function isLenient({ id, evidence }: Operation, { what, isCount }: HostileBody): boolean {
  if (REGISTRATIONS.includes(id)) return what.includes('number') || what.includes('levels');
  return evidence === true && isCount === true;
}

interface Prepared {
  readonly sample: Sample;
  readonly key: string;
  readonly judge: Judge;
}

const untouched = new Map<Sampled, Promise<Prepared>>();

/** The same for all who send only what is refused: nothing becomes of it. */
function preparedOnce(sampled: Sampled): Promise<Prepared> {
  const known = untouched.get(sampled) ?? prepared(sampled);
  untouched.set(sampled, known);
  return known;
}

async function prepared({ op, make }: Sampled): Promise<Prepared> {
  const sample = await make(stage.home);
  const judge = op.http ? servedJudge.ofBody(`${op.http.method} ${op.http.path}`) : judgeOfPayload(op);
  return { sample, key: rightfulKey(op, sample, stage.home) ?? '', judge: judge ?? (() => []) };
}

function sendRaw(
  { op }: Sampled,
  sample: Sample,
  { key, hostile }: { readonly key: string; readonly hostile: HostileBody },
): Promise<Answer> {
  return exchange(stage.app.url, withRawBody(op, sample, { key, body: hostile.body }));
}

function objectIn({ body }: Sample): Readonly<Record<string, unknown>> {
  return (body ?? {}) as Readonly<Record<string, unknown>>;
}

interface Refusal {
  readonly status: number;
  readonly code: string | undefined;
  readonly at: readonly (readonly (string | number)[])[];
  readonly types: readonly string[];
}

function refusalOf({ status, json }: Answer): Refusal {
  const problems = (Array.isArray(json?.detail) ? json.detail : []) as readonly {
    readonly loc: readonly (string | number)[];
    readonly type: string;
  }[];
  return { status, code: json?.code, at: problems.map(({ loc }) => loc), types: problems.map(({ type }) => type) };
}

/** Depth is a property of the whole body. The refusal of a registration is one text by contract, which begins with the place. */
function isAtField(answer: Answer, { field, what }: HostileBody): boolean {
  if (what.includes('levels')) return refusalOf(answer).types[0] === 'json_too_deep';
  if (typeof answer.json?.detail === 'string')
    return answer.json.detail.includes(`body.${field}`) || answer.json.detail.includes(`body.payload.${field}`);
  return refusalOf(answer).at.some(([part, ...at]) => part === 'body' && at.slice(0, 2).includes(field ?? '')); // of a frame below `payload`
}
