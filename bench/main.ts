import { existsSync } from 'node:fs';
import path from 'node:path';
import { helpText, readOptions, type Options } from './options.ts';
import { committedFigures, writeResults, type Result } from './report/results.ts';
import { describeMachine, describeResult } from './report/table.ts';
import type { Figure } from './report/figure.ts';
import { noiseIn, regressions } from './report/verdict.ts';
import type { Row } from './row.ts';
import { ROWS } from './rows.ts';
import { NoiseWatch, thisMachine, type Machine } from './stage/machine.ts';
import { BenchStage } from './stage/stage.ts';

const ROOT = rootOf(import.meta.dirname);
const RESULTS = path.join(ROOT, 'docs/bench/results.json');

/** One bench: what the rows share, and the ways to measure and to check one. */
class Bench {
  private readonly stage: BenchStage;
  private readonly watch: NoiseWatch;
  private readonly machine: Machine;

  constructor(stage: BenchStage) {
    const { pid, owned, version } = stage.postgres;
    this.stage = stage;
    this.watch = new NoiseWatch(pid === null || owned ? [process.pid] : [process.pid, pid]);
    this.machine = thisMachine(version);
  }

  describe(): string {
    return describeMachine(this.machine);
  }

  async measure(row: Row): Promise<Result> {
    const measured_at = new Date().toISOString();
    try {
      const { value, conditions } = await this.watch.during(() => row.measure(this.stage));
      const { id, work } = row;
      const result = { id, work, form: this.stage.form, measured_at, machine: this.machine, conditions, ...value };
      console.log(`\n${describeResult(result)}`);
      return result;
    } finally {
      await this.stage.clear();
    }
  }

  /** Whether a row is no worse than committed. A worse one gets a second chance: one bad minute is no regression. */
  async passes(row: Row, result: Result): Promise<boolean> {
    const committed = committedFigures(RESULTS, row.id);
    if (committed === undefined) {
      console.log(`${row.id} is not in ${RESULTS}: nothing to compare with`);
      return true;
    }
    const first = regressions(provenIn(result), committed);
    if (first.length === 0) return true;
    console.log(
      `${row.id}: ${first.map(({ name }) => name).join(', ')} worse than committed by more than 30 %; once more`,
    );
    const second = regressions(provenIn(await this.measure(row)), committed);
    const twice = second.filter(({ name }) => first.some((figure) => figure.name === name));
    if (twice.length > 0) console.log(`${row.id}: ${twice.map(({ name }) => name).join(', ')} worse twice in a row`);
    return twice.length === 0;
  }
}

/** A noisy figure proves nothing, a regression neither. */
function provenIn({ figures, conditions }: Result): readonly Figure[] {
  return figures.filter((figure) => noiseIn(figure, conditions).length === 0);
}

async function run(options: Options): Promise<boolean> {
  if (options.check && !existsSync(RESULTS))
    throw new Error(`there is no ${RESULTS} to compare with: make it with --write`);
  const stage = await BenchStage.open({
    form: options.form,
    entry: options.server === undefined ? path.join(ROOT, 'dist/src/main.js') : path.resolve(options.server),
    databaseUrl: process.env['BENCH_DATABASE_URL'],
    say: (what) => console.error(`  … ${what}`),
  });
  endOn(['SIGINT', 'SIGTERM'], () => stage.close());
  try {
    const bench = new Bench(stage);
    console.log(bench.describe());
    const results: Result[] = [];
    let passed = true;
    for (const row of options.rows) {
      const result = await bench.measure(row);
      results.push(result);
      if (options.check) passed = (await bench.passes(row, result)) && passed;
    }
    if (options.write) writeResults(RESULTS, results);
    return passed;
  } finally {
    await stage.close();
  }
}

/** Clears away before the process goes; a measurement that was cut short has no result. */
function endOn(signals: readonly NodeJS.Signals[], close: () => Promise<void>): void {
  for (const signal of signals) process.once(signal, () => void close().finally(() => process.exit(130)));
}

/** The directory with package.json: the program runs from source and from dist. */
function rootOf(directory: string): string {
  if (existsSync(path.join(directory, 'package.json'))) return directory;
  const parent = path.dirname(directory);
  if (parent === directory) throw new Error(`no package.json above ${import.meta.dirname}`);
  return rootOf(parent);
}

try {
  const options = readOptions(process.argv.slice(2), ROWS);
  if (options.help) console.log(helpText(ROWS));
  else process.exitCode = (await run(options)) ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
