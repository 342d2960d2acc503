import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { declaredEvents, event } from './event.ts';

const made = event('test.made', z.object({ id: z.string(), size: z.number().default(0) }));

it('a fact is told in the form its kind declares, and read in it again', () => {
  const told: unknown[] = [];
  const ctx = { publish: (...fact: unknown[]) => void told.push(fact) };
  made.publish(ctx, { id: 'x' });
  expect(told).toEqual([['test.made', { id: 'x', size: 0 }]]);
  expect(made.read({ accountId: 'a', topic: 'test.made', payload: { id: 'x', size: 0 } })).toEqual({
    id: 'x',
    size: 0,
  });
  expect(() => made.read({ accountId: 'a', topic: 'test.made', payload: {} })).toThrow();
});

it('a kind of fact is declared once', () => {
  expect(() => event('test.made', z.object({}))).toThrow('Two kinds of fact are called test.made');
  expect(declaredEvents()).toContain(made);
});
