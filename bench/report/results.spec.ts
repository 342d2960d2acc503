import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { alone } from './figure.ts';
import { committedFigures, writeResults, type Result } from './results.ts';

let directory: string;
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-results-'));
});
afterEach(() => {
  fs.rmSync(directory, { recursive: true });
});

function result(id: string, value: number): Result {
  const figures = [alone({ name: 'a', unit: 's', target: { of: 'product', is: 'at most', limit: 1 } }, [value])];
  const machine = { cpu: 'a', cores: 2, node: 'v24', postgres: '18' };
  const conditions = { load: 0, cores: 2, otherCores: 0 };
  return { id, work: id, form: 'full', measured_at: '2026-11-30T00:00:00Z', machine, conditions, figures, notes: [] };
}

it('replaces the rows that were measured and keeps the others, in the order of their numbers', () => {
  const file = path.join(directory, 'new', 'results.json');
  writeResults(file, [result('B-14', 1), result('B-2', 2)]);
  writeResults(file, [result('B-8', 3), result('B-2', 4)]);
  const { rows } = JSON.parse(fs.readFileSync(file, 'utf8')) as { rows: Record<string, Result> };
  expect(Object.keys(rows)).toEqual(['B-2', 'B-8', 'B-14']);
  const values = Object.keys(rows).map((id) => committedFigures(file, id)?.[0]?.product);
  expect(values).toEqual([4, 3, 1]);
});
