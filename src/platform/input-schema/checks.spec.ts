import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { INPUT_SCHEMA_LIMIT, InputSchemas } from './checks.ts';

jest.setTimeout(60_000); // threads start slowly on a busy machine

const CHECK_MS = 200;
const schemas = new InputSchemas({ checkMs: CHECK_MS, workers: 1 });
afterAll(() => schemas.close());

/** Back-tracks for ever on a row of a's that ends in something else. */
const CATASTROPHIC = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
const HOSTILE = { a: `${'a'.repeat(60)}!` };

const PERSON = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1 },
    id: { type: 'string', format: 'uuid' },
    born: { type: 'string', format: 'date-time' },
    mood: { enum: ['good', 'bad'] },
    homes: { type: 'array', items: { $ref: '#/$defs/Home' } },
  },
  required: ['name'],
  additionalProperties: false,
  $defs: { Home: { type: 'object', properties: { street: { type: 'string' } }, required: ['street'] } },
};
const FITTING = {
  name: 'Ada',
  id: '4bf92f35-77b3-4da6-a3ce-929d0e0e4736',
  born: '1815-12-10T00:00:00Z',
  mood: 'good',
  homes: [{ street: 'Marylebone' }],
};

describe('an input', () => {
  it('that fits has no problems', async () => {
    expect(await schemas.describe(PERSON)).toBeNull();
    expect(await schemas.check(PERSON, FITTING)).toEqual([]);
  });

  it('that does not fit has a problem for each place', async () => {
    const input = {
      id: 'x',
      born: 'yesterday',
      mood: 'odd',
      homes: [{ street: 'a' }, { '0': 1, street: 7 }],
      extra: 1,
    };
    expect(await schemas.check(PERSON, input)).toEqual([
      { loc: ['body', 'input', 'name'], msg: "must have required property 'name'", type: 'schema_required' },
      {
        loc: ['body', 'input', 'extra'],
        msg: 'must NOT have additional properties',
        type: 'schema_additionalProperties',
      },
      { loc: ['body', 'input', 'id'], msg: 'must match format "uuid"', type: 'schema_format' },
      { loc: ['body', 'input', 'born'], msg: 'must match format "date-time"', type: 'schema_format' },
      {
        loc: ['body', 'input', 'mood'],
        msg: 'must be equal to one of the allowed values: ["good","bad"]',
        type: 'schema_enum',
      },
      { loc: ['body', 'input', 'homes', 1, 'street'], msg: 'must be string', type: 'schema_type' },
    ]);
  });

  it('has the same problems whether it is checked on the event loop or in a thread', async () => {
    const inThread = { ...PERSON, patternProperties: { '^never$': {} } };
    for (const input of [FITTING, { id: 'x', homes: [{}, 1] }, [], null, 'text']) {
      expect(await schemas.check(inThread, input)).toEqual(await schemas.check(PERSON, input));
    }
  });

  it('has at most 20 problems, and no long messages', async () => {
    const schema = { type: 'array', items: { enum: ['x'.repeat(5000)] } };
    const problems = await schemas.check(schema, Array(100).fill(1));
    expect(problems).toHaveLength(20);
    expect(Math.max(...problems.map(({ msg }) => msg.length))).toBeLessThan(400);
  });

  it.each([[PERSON], [{ ...PERSON, patternProperties: { '^never$': {} } }]])(
    'keeps its __proto__ and constructor keys, which are extra ones (%#)',
    async (schema) => {
      const input = JSON.parse('{"name":"Ada","__proto__":{"id":1},"constructor":2}') as unknown;
      const extra = (await schemas.check(schema, input)).map(({ loc }) => loc.at(-1));
      expect(extra).toEqual(['__proto__', 'constructor']);
      expect(JSON.stringify(input)).toBe('{"name":"Ada","__proto__":{"id":1},"constructor":2}');
    },
  );

  it('does not have what only Object.prototype has', async () => {
    const problems = await schemas.check({ type: 'object', required: ['constructor', 'toString'] }, {});
    expect(problems.map(({ loc }) => loc.at(-1))).toEqual(['constructor', 'toString']);
  });
});

describe('a schema', () => {
  it.each([[{}], [null], [undefined]])('that says nothing checks nothing (%j)', async (schema) => {
    expect(await schemas.describe(schema)).toBeNull();
    expect(await schemas.check(schema, { any: 'thing' })).toEqual([]);
  });

  it.each([
    [
      'refers elsewhere',
      { $ref: 'https://example.com/schema.json' },
      /refers to https:\/\/example\.com\/schema\.json.*nothing is fetched/,
    ],
    ['refers elsewhere below', { properties: { a: { $ref: 'http://127.0.0.1:1/x#/y' } } }, /127\.0\.0\.1/],
    ['refers to what it does not hold', { properties: { a: { $ref: '#/$defs/None' } } }, /#\/\$defs\/None/],
    ['has an unknown type', { type: 'nope' }, /not JSON Schema: \/type/],
    ['has a broken pattern', { properties: { a: { pattern: '(' } } }, /regular expression/],
    [
      'is written for draft-04',
      { $schema: 'http://json-schema.org/draft-04/schema#', type: 'object' },
      /neither 2020-12 nor draft-07/,
    ],
    ['names a dialect from a prototype', { $schema: 'constructor' }, /neither 2020-12 nor draft-07/],
    ['is asynchronous', { $async: true, type: 'object' }, /\$async/],
    ['is a list', [{ type: 'object' }], /not an object/],
    ['is text', 'object', /not an object/],
    [
      'has 300 KiB',
      { type: 'string', description: 'x'.repeat(300 * 1024) },
      new RegExp(`limit is ${INPUT_SCHEMA_LIMIT}`),
    ],
    ['is nested 2,000 levels deep', nestedSchema(2_000), /nested too deep/],
    ['is nested 20,000 levels deep', nestedSchema(20_000), /nested too deep/],
  ])('that %s checks nothing and says why', async (_what, schema, reason) => {
    expect(await schemas.describe(schema)).toMatch(reason);
    expect(await schemas.check(schema, { any: 'thing' })).toEqual([]);
  });

  it('of ordinary make may be nearly as large as the limit', async () => {
    const fields = Array.from({ length: 2000 }, (_, index) => [
      `field_${index}`,
      { type: 'string', pattern: `^${index}`, description: 'd'.repeat(60) },
    ]);
    const schema = { type: 'object', properties: Object.fromEntries(fields) as object };
    expect(JSON.stringify(schema).length).toBeGreaterThan(0.9 * INPUT_SCHEMA_LIMIT);
    expect(await schemas.describe(schema)).toBeNull();
    expect(await schemas.check(schema, { field_7: '8' })).toMatchObject([{ loc: ['body', 'input', 'field_7'] }]);
  });

  it('is read as draft-07 where it says so, as 2020-12 otherwise', async () => {
    const draft07 = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      items: [{ type: 'string' }],
      definitions: {},
    };
    expect(await schemas.describe(draft07)).toBeNull();
    expect(await schemas.check(draft07, [1, 2])).toMatchObject([{ loc: ['body', 'input', 0], type: 'schema_type' }]);
    const draft2020 = { $schema: 'https://json-schema.org/draft/2020-12/schema', prefixItems: [{ type: 'string' }] };
    expect(await schemas.check(draft2020, [1, 2])).toMatchObject([{ loc: ['body', 'input', 0], type: 'schema_type' }]);
    expect(await schemas.describe({ items: [{ type: 'string' }] })).toMatch(/\/items/);
  });

  it('may refer to itself', async () => {
    const tree = {
      $id: 'https://example.com/tree',
      type: 'object',
      properties: { value: { type: 'number' }, children: { type: 'array', items: { $ref: '#' } } },
      required: ['value'],
    };
    expect(await schemas.check(tree, { value: 1, children: [{ value: 2, children: [] }] })).toEqual([]);
    expect(await schemas.check(tree, { value: 1, children: [{ value: 2, children: [{}] }] })).toMatchObject([
      { loc: ['body', 'input', 'children', 0, 'children', 0, 'value'] },
    ]);
  });

  it('that refers to itself without end refuses its inputs or is refused itself', async () => {
    const schema = { allOf: [{ $ref: '#' }], title: 'endless' };
    expect(await schemas.check(schema, {})).toEqual([
      { loc: ['body', 'input'], msg: 'The schema refers to itself without end', type: 'schema_check_failed' },
    ]);
    expect(await schemas.describe({ $defs: { a: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' })).toMatch(
      /itself without end/,
    );
  });

  it('sees nothing of another one', async () => {
    const holder = {
      $id: 'https://example.com/holder',
      $defs: { inner: { $id: 'https://example.com/inner', const: 'secret' } },
    };
    expect(await schemas.describe(holder)).toBeNull();
    for (const $ref of ['https://example.com/holder', 'https://example.com/inner']) {
      expect(await schemas.describe({ properties: { a: { $ref } } })).toMatch(/nothing is fetched/);
    }
    expect(await schemas.describe({ ...holder, title: 'the same id again' })).toBeNull();
  });

  it('with a __proto__ property changes no prototype', async () => {
    const schema = JSON.parse(
      '{"properties":{"__proto__":{"properties":{"polluted":{"default":1}}}},"definitions":{"__proto__":{}}}',
    ) as object;
    expect(await schemas.describe(schema)).toBeNull();
    expect(await schemas.check(schema, JSON.parse('{"__proto__":{"polluted":2}}'))).toEqual([]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

describe('a check', () => {
  it('of a pattern that back-tracks for ever ends in a problem, and nothing else waits for it', async () => {
    expect(await schemas.describe(CATASTROPHIC)).toBeNull();
    expect(await schemas.check(CATASTROPHIC, { a: 'b' })).toMatchObject([
      { loc: ['body', 'input', 'a'], type: 'schema_pattern' },
    ]);
    const pause = longestPause();
    const started = performance.now();
    const problems = await schemas.check(CATASTROPHIC, HOSTILE);
    const took = performance.now() - started;
    expect(problems).toEqual([
      {
        loc: ['body', 'input'],
        msg: `The check against the schema took longer than ${CHECK_MS} ms`,
        type: 'schema_check_overdue',
      },
    ]);
    expect(took).toBeGreaterThanOrEqual(CHECK_MS - 5);
    expect(took).toBeLessThan(CHECK_MS + 1_000);
    expect(await pause.end()).toBeLessThan(150);
    expect(await schemas.check(CATASTROPHIC, { a: 'aaa' })).toEqual([]);
  });

  it.each([
    [
      'doubles its work at each level',
      {
        anyOf: [
          { properties: { a: { $ref: '#' } }, required: ['x'] },
          { properties: { a: { $ref: '#' } }, required: ['y'] },
        ],
      },
      nestedInput(60),
    ],
    ['has definitions that double at each step', doublingDefinitions(40), 1],
    ['compares each item with each', { uniqueItems: true }, Array.from({ length: 50_000 }, (_, index) => ({ index }))],
  ])('of a schema that %s is bounded too', async (_what, schema, input) => {
    expect(await schemas.check(schema, input)).toMatchObject([
      { loc: ['body', 'input'], type: 'schema_check_overdue' },
    ]);
  });

  it('that takes too long delays other schemas by one limit, not by its whole queue', async () => {
    const one = new InputSchemas({ checkMs: CHECK_MS, workers: 1 });
    await one.describe(CATASTROPHIC);
    const hostile = Promise.all(Array.from({ length: 8 }, () => one.check(CATASTROPHIC, HOSTILE).catch(() => [])));
    let isHostileDone = false;
    void hostile.then(() => (isHostileDone = true));
    const harmless = { properties: { b: { pattern: '^b' } } };
    expect(await one.check(harmless, { b: 'c' })).toMatchObject([{ type: 'schema_pattern' }]);
    expect(isHostileDone).toBe(false);
    await one.close();
    await hostile;
  });

  it('of a large input neither fails for its size nor blocks the event loop for its content', async () => {
    const text = 'x'.repeat(8 * 1024 * 1024 - 100);
    const schema = {
      properties: { a: { anyOf: Array.from({ length: 40 }, () => ({ maxLength: 5 })) }, b: { type: 'string' } },
    };
    const patient = new InputSchemas({ checkMs: 5_000, workers: 1 });
    expect(await patient.check({ properties: { a: { maxLength: 5 } } }, { a: text })).toMatchObject([
      { type: 'schema_maxLength' },
    ]);
    const pause = longestPause();
    await patient.check(schema, { a: text });
    expect(await pause.end()).toBeLessThan(500);
    await patient.close();
  });

  it('takes no more than a moment, on the event loop and in a thread', async () => {
    for (const schema of [PERSON, CATASTROPHIC]) {
      await schemas.check(schema, FITTING);
      const rounds: number[] = [];
      while (rounds.length < 5) {
        const started = performance.now();
        for (let count = 0; count < 400; count += 1) await schemas.check(schema, FITTING);
        rounds.push(performance.now() - started);
      }
      expect(Math.min(...rounds)).toBeLessThan(1_200); // 3 ms each; alone it is a fifth of one
    }
  });

  it('that still waits when checks are closed is rejected', async () => {
    const closing = new InputSchemas({ checkMs: 10_000, workers: 1 });
    await closing.describe(CATASTROPHIC);
    const checks = Array.from({ length: 3 }, () => closing.check(CATASTROPHIC, HOSTILE));
    const outcomes = Promise.allSettled(checks);
    await sleep(50);
    await closing.close();
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    await expect(closing.check(CATASTROPHIC, {})).rejects.toThrow('closed');
  });
});

/** Watches how long the event loop was away at most. */
function longestPause(): { end: () => Promise<number> } {
  let last = performance.now();
  let longest = 0;
  const look = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  };
  const timer = setInterval(look, 5);
  return {
    end: async () => {
      await sleep(10);
      clearInterval(timer);
      look();
      return longest;
    },
  };
}

function nestedSchema(levels: number): object {
  let schema: object = { type: 'string' };
  for (let level = 0; level < levels; level += 1) schema = { properties: { a: schema } };
  return schema;
}

function nestedInput(levels: number): unknown {
  let input: unknown = {};
  for (let level = 0; level < levels; level += 1) input = { a: input };
  return input;
}

function doublingDefinitions(steps: number): object {
  const definitions: Record<string, object> = { [`d${steps}`]: { type: 'string' } };
  for (let step = 0; step < steps; step += 1) {
    const next = { $ref: `#/$defs/d${step + 1}` };
    definitions[`d${step}`] = { allOf: [next, next] };
  }
  return { $defs: definitions, $ref: '#/$defs/d0' };
}
