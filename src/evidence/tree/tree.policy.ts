import type { RunRow } from '../../runs/index.ts';

export type Relation = 'root' | 'delegation' | 'workflow_step' | 'replay' | 'revival';

/** A run in a tree that is being grown. */
export interface Node {
  readonly run: RunRow;
  readonly relation: Relation;
  readonly children: Node[];
  truncated: boolean;
}

/** Ids that replays are made with. */
const REPLAY = 'run_replay_';

/** What a run is to the one that it is shown under. */
export function relationTo(parentId: string, run: Pick<RunRow, 'id' | 'revived_from' | 'origin_kind'>): Relation {
  if (run.revived_from === parentId) return 'revival';
  if (run.id.startsWith(REPLAY)) return 'replay';
  return run.origin_kind === 'workflow' ? 'workflow_step' : 'delegation';
}

/** The run that one knows itself to have come from. */
export function originOf({
  revived_from,
  parent_run_id,
}: Pick<RunRow, 'revived_from' | 'parent_run_id'>): string | null {
  return revived_from ?? parent_run_id;
}

export function nodeOf(run: RunRow, relation: Relation): Node {
  return { run, relation, children: [], truncated: false };
}
