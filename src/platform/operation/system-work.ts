import type { Database } from '../db/database.ts';
import type { OpContext } from './operation.ts';

/** What work over all accounts may do of what an operation may. */
export type SystemContext = Pick<OpContext, 'sql' | 'afterCommit'>;

/** Runs work of a sweep in one transaction of its own, and its pokes after the commit. `purpose` shows in `pg_stat_activity`. */
export async function asSystemWork<Result>(
  database: Database,
  purpose: string,
  work: (ctx: SystemContext) => Promise<Result>,
): Promise<Result> {
  const pokes: (() => void)[] = [];
  const result = await database.asSystem(purpose, (system) =>
    work({
      sql: (text, values = []) => system.query({ text, values }),
      afterCommit: (poke) => void pokes.push(poke),
    }),
  );
  for (const poke of pokes) poke();
  return result;
}
