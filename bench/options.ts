import { parseArgs } from 'node:util';
import type { Form, Row } from './row.ts';

/** What the command line asks for. */
export interface Options {
  readonly rows: readonly Row[];
  readonly form: Form;
  readonly write: boolean;
  readonly check: boolean;
  readonly help: boolean;
  /** Another build's server than the one beside this program. */
  readonly server: string | undefined;
}

/**
 * Reads the command line.
 * @throws Error with a sentence for the user when it makes no sense.
 */
export function readOptions(args: readonly string[], known: readonly Row[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      short: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
      server: { type: 'string' },
    },
  });
  const { short, write, check, help, server } = values;
  if (write && check) throw new Error('--write replaces what --check compares with: use one of them');
  const form = short ? 'short' : 'full';
  return { rows: chosen(positionals, known, form), form, write, check, help, server };
}

/** The text of --help. */
export function helpText(rows: readonly Row[]): string {
  return `npm run bench -- [${rows.map(({ id }) => id).join('] [')}] [--short] [--write | --check] [--server FILE]

Measures the product against floors: bare Node and PostgreSQL doing the least work that still does the job. Floor and
product take turns on one PostgreSQL, and only the ratio of such neighbours counts; the table shows the medians.

${rows.map(({ id, work, inShortForm }) => `${inShortForm ? ' ' : '*'} ${id.padEnd(6)}${work}`).join('\n')}

  --short        three pairs instead of five, fewer samples, smaller crowds: for CI; without the rows marked *, unless
                 they are named
  --write        put the results into docs/bench/results.json; rows that were not measured stay as they are
  --check        compare with that file; a row whose ratio is worse by more than 30 % is measured again, and if it is
                 so once more the exit code is 1; a noisy figure convicts nobody
  --server FILE  measure another build: FILE is its compiled dist/src/main.js

  BENCH_DATABASE_URL   a PostgreSQL to use (it needs the right to create databases and roles); without it an embedded
                       one is started. The databases made in it are dropped at the end.

A figure is "noisy" and proves nothing when its pairs lie more than 30 % of the median apart, when the load average was
above the number of cores before the start, or when other work took more than a quarter of the machine.`;
}

function chosen(ids: readonly string[], known: readonly Row[], form: Form): readonly Row[] {
  const unknown = ids.filter((id) => !known.some((row) => row.id === id.toUpperCase()));
  if (unknown.length > 0)
    throw new Error(`there is no row ${unknown.join(', ')}: choose from ${known.map(({ id }) => id).join(', ')}`);
  if (ids.length === 0) return known.filter(({ inShortForm }) => form === 'full' || inShortForm);
  return known.filter((row) => ids.some((id) => id.toUpperCase() === row.id));
}
