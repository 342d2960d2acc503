import { expect, it } from '@jest/globals';
import { Clock, wireTime } from './clock.ts';

const clock = new Clock();

it('a sleep ends early, without an error, when it is called off', async () => {
  const calledOff = new AbortController();
  const startedAt = clock.monotonicMs();
  const sleeping = clock.sleep(60_000, calledOff.signal);
  calledOff.abort();
  await sleeping;
  await clock.sleep(60_000, calledOff.signal);
  expect(clock.monotonicMs() - startedAt).toBeLessThan(5_000);
});

it('a time on the wire is RFC 3339 in UTC with milliseconds', () => {
  expect(wireTime(new Date(0))).toBe('1970-01-01T00:00:00.000Z');
  expect(wireTime(clock.now())).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(Math.abs(clock.now().getTime() - clock.nowMs())).toBeLessThan(1_000);
});

it('a clock that is put wrong tells another time of day, and the same durations', () => {
  const wrong = new Clock(-120.5);
  expect(Math.abs(clock.nowMs() - wrong.nowMs() - 120_500)).toBeLessThan(1_000);
  expect(Math.abs(clock.now().getTime() - wrong.now().getTime() - 120_500)).toBeLessThan(1_000);
  expect(Math.abs(clock.monotonicMs() - wrong.monotonicMs())).toBeLessThan(1_000);
});
