import type { Crew } from '../client/crew.ts';
import type { Form } from '../row.ts';

/** Callers, workers, and connections of the floor. */
export const CONCURRENCY = 16;
/** invoke, claim, start, one batch of events, complete: what a run changes, each answered after its commit. */
export const MUTATIONS_PER_RUN = 5;
/** Seconds of one measurement. */
export const SECONDS: Readonly<Record<Form, number>> = { full: 6, short: 3 };

/** True for so many seconds from now on. */
export function forSeconds(seconds: number): () => boolean {
  const end = performance.now() + seconds * 1000;
  return () => performance.now() < end;
}

/**
 * Sixteen callers, each with one invoke under way at any time. Answers how many runs ended well.
 * @throws Error when the workers have executed anything but exactly these runs.
 */
export async function driveRuns(crew: Crew, goesOn: () => boolean): Promise<number> {
  const before = crew.total(({ executed }) => executed.length);
  const answered: string[] = [];
  const call = async () => {
    while (goesOn()) answered.push(await crew.invoke());
  };
  await crew.whileHealthy(Promise.all(Array.from({ length: CONCURRENCY }, call)));
  await crew.whileHealthy(Promise.all(crew.workers.map((worker) => worker.idle())));
  const executed = crew.total((worker) => worker.executed.length) - before;
  if (executed !== answered.length || new Set(answered).size !== answered.length) {
    throw new Error(`${answered.length} invokes were answered, ${executed} runs were executed`);
  }
  return answered.length;
}
