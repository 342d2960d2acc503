import type { Machine } from '../stage/machine.ts';
import type { Figure } from './figure.ts';
import type { Result } from './results.ts';
import { isWithin, noiseIn, verdictOn } from './verdict.ts';

const COLUMNS = ['figure', 'floor', 'product', 'ratio', 'spread', 'target', 'verdict'] as const;

/** The machine in one line. */
export function describeMachine({ cpu, cores, node, postgres }: Machine): string {
  return `${cpu}, ${cores} cores, Node ${node}, PostgreSQL ${postgres}`;
}

/** A row as a person reads it. */
export function describeResult(result: Result): string {
  const lines = [[...COLUMNS], ...result.figures.map((figure) => cells(figure, result))];
  const widths = COLUMNS.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  const table = lines.map((line) => line.map((cell, column) => pad(cell, widths[column] ?? 0, column)).join('  '));
  return [
    `${result.id}  ${result.work}  (${result.form} form)`,
    `  ${describeConditions(result)}`,
    ...table.map((line) => `  ${line.trimEnd()}`),
    ...result.notes.map((note) => `  · ${note}`),
  ].join('\n');
}

function describeConditions({ conditions }: Result): string {
  const { load, cores, otherCores } = conditions;
  const others = otherCores === null ? 'other work not known' : `other work ${otherCores.toFixed(2)} cores`;
  return `load average ${load.toFixed(2)} on ${cores} cores before the start, ${others} during the row`;
}

function cells(figure: Figure, { conditions }: Result): string[] {
  return [
    figure.name,
    figure.floor === null ? '–' : amount(figure.floor, figure.unit),
    amount(figure.product, figure.unit),
    figure.ratio === null ? '–' : `${significant(figure.ratio)}×`,
    `${Math.round(figure.spread * 100)} %`,
    describeTarget(figure),
    describeVerdict(figure, conditions),
  ];
}

function describeTarget({ target, unit }: Figure): string {
  const sign = target.is === 'at most' ? '≤' : '≥';
  return target.of === 'ratio' ? `${sign} ${target.limit}× floor` : `${sign} ${target.limit} ${unit}`;
}

function describeVerdict(figure: Figure, conditions: Result['conditions']): string {
  const verdict = verdictOn(figure, conditions);
  if (verdict !== 'noisy') return verdict;
  return `noisy (${noiseIn(figure, conditions).join(', ')}), would be ${isWithin(figure) ? 'met' : 'missed'}`;
}

function amount(value: number, unit: string): string {
  return `${significant(value)} ${unit}`;
}

function significant(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

/** Names and verdicts to the left, numbers to the right. */
function pad(cell: string, width: number, column: number): string {
  return column === 0 || column >= COLUMNS.length - 2 ? cell.padEnd(width) : cell.padStart(width);
}
