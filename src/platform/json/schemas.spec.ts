import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { anyJson, freeObject } from './schemas.ts';

const Body = z.strictObject({ input: freeObject(), extra: freeObject().nullish(), value: anyJson().optional() });

it('hands a free object on with every own key, __proto__ and constructor among them', () => {
  const text =
    '{"input":{"__proto__":{"z":1},"constructor":{"prototype":2},"a":[{"__proto__":3}]},"extra":null,"value":[null]}';
  expect(JSON.stringify(Body.parse(JSON.parse(text)))).toBe(text);
});

it.each([[[]], [null], ['text'], [1], [undefined]])('refuses %j where an object is wanted', (input) => {
  const result = Body.safeParse({ input });
  expect(result.error?.issues).toMatchObject([{ code: 'invalid_type', path: ['input'], expected: 'object' }]);
});

it('takes any value but none', () => {
  const Field = z.object({ value: anyJson() });
  for (const value of [null, 0, '', false, [], {}]) expect(Field.parse({ value })).toEqual({ value });
  expect(Field.safeParse({}).error?.issues).toMatchObject([{ code: 'invalid_type', path: ['value'] }]);
});

it.each(['input', 'output'] as const)('is documented as a free object and as any value (%s)', (io) => {
  const described = freeObject().describe('What the agent gets');
  const schema = z.toJSONSchema(Body.extend({ described }), { target: 'draft-2020-12', io });
  expect(schema.properties).toEqual({
    input: { type: 'object', additionalProperties: true },
    extra: { anyOf: [{ type: 'object', additionalProperties: true }, { type: 'null' }] },
    value: {},
    described: { type: 'object', additionalProperties: true, description: 'What the agent gets' },
  });
  expect(schema.required).toEqual(['input', 'described']);
  expect(z.toJSONSchema(freeObject())).toMatchObject({ type: 'object', additionalProperties: true });
});
