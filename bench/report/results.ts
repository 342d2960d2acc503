import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Form, Measurement } from '../row.ts';
import type { Conditions, Machine } from '../stage/machine.ts';
import type { Figure } from './figure.ts';
import { isWithin, noiseIn, verdictOn, type Verdict } from './verdict.ts';

/** A row's measurement with everything needed to judge it later, on another machine. */
export interface Result extends Measurement {
  readonly id: string;
  readonly work: string;
  readonly form: Form;
  readonly measured_at: string;
  readonly machine: Machine;
  readonly conditions: Conditions;
}

interface WrittenFigure extends Figure {
  readonly verdict: Verdict;
  readonly within_target: boolean;
  readonly noise: readonly string[];
}

interface ResultsFile {
  readonly rows: Readonly<Record<string, Omit<Result, 'figures'> & { readonly figures: readonly WrittenFigure[] }>>;
}

/** The figures of a row in the committed results; undefined when the file or the row is not there. */
export function committedFigures(file: string, id: string): readonly Figure[] | undefined {
  return read(file).rows[id]?.figures;
}

/** Replaces the rows that were measured and keeps the others. */
export function writeResults(file: string, results: readonly Result[]): void {
  const measured = Object.fromEntries(results.map((result) => [result.id, withVerdicts(result)]));
  const rows = Object.entries({ ...read(file).rows, ...measured }).toSorted(([a], [b]) =>
    a.localeCompare(b, 'en', { numeric: true }),
  );
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ rows: Object.fromEntries(rows) }, rounded, 2)}\n`);
}

function withVerdicts(result: Result) {
  const figures = result.figures.map((figure) => ({
    ...figure,
    verdict: verdictOn(figure, result.conditions),
    within_target: isWithin(figure),
    noise: noiseIn(figure, result.conditions),
  }));
  return { ...result, figures };
}

function read(file: string): ResultsFile {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ResultsFile) : { rows: {} };
}

/** Four digits are more than a measurement on a shared machine can mean. */
function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value;
}
