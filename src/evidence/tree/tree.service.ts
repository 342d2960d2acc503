import { Injectable } from '@nestjs/common';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { RunNotFound, childrenOf, runsByIds, toListed, withOthersBelow, type RunRow } from '../../runs/index.ts';
import type { getTree } from './tree.contract.ts';
import { nodeOf, originOf, relationTo, type Node } from './tree.policy.ts';
import { calledBy, callerOf, callersOfOthers } from './tree.store.ts';

/** Runs that one tree shows. A tree is told in one answer, and nobody reads more. */
const MOST_RUNS = 500;

type Tree = Out<typeof getTree>;

/**
 * Which runs began which: by what a run says of its parent, by the spans of the one that called it, and by whose session it goes
 * on with. One statement for each level, and a bounded number of them; what is left out is marked at the run above it.
 */
@Injectable()
export class RunTrees {
  async get(ctx: OpContext, { run_id: runId, depth }: In<typeof getTree>): Promise<Tree> {
    const [asked] = await runsByIds(ctx, [runId]);
    if (!asked) throw RunNotFound();
    const line = await climb(ctx, asked, depth);
    const root = await grow(ctx, line, line.length - 1 + depth);
    return view(root);
  }
}

/** The run and those above it, the topmost first. */
async function climb(ctx: OpContext, asked: RunRow, depth: number): Promise<RunRow[]> {
  const line = [asked];
  while (line.length <= depth) {
    const [top] = line;
    const id = top && (originOf(top) ?? (await callerOf(ctx, top.id, top.day)));
    if (!id || line.some((run) => run.id === id)) break;
    const [above] = await runsByIds(ctx, [id]);
    if (!above) break; // it is kept no longer
    line.unshift(above);
  }
  return line;
}

/** Level by level from the first of `line` down, whose runs are there whatever else has to be left out. */
async function grow(ctx: OpContext, line: readonly RunRow[], depth: number): Promise<Node> {
  const [top, ...rest] = line;
  if (!top) throw RunNotFound();
  const root = nodeOf(top, 'root');
  const seen = new Set(line.map(({ id }) => id));
  let left = MOST_RUNS - line.length;
  let level = [root];
  for (let down = 0; level.length > 0; down += 1) {
    const next: Node[] = [];
    const inLine = rest[down];
    const parentInLine = level.find(({ run }) => run.id === line[down]?.id);
    if (inLine && parentInLine) next.push(attach(parentInLine, inLine));
    const children = down < depth ? await below(ctx, level, left) : [];
    for (const { parent, run } of children) {
      if (seen.has(run.id) || left <= 0) continue;
      seen.add(run.id);
      left -= 1;
      next.push(attach(parent, run));
    }
    if (down >= depth || left <= 0) await markCut(ctx, level, seen);
    level = next;
  }
  return root;
}

/** Says at which runs of a level something below is not shown. */
async function markCut(ctx: OpContext, level: readonly Node[], shown: ReadonlySet<string>): Promise<void> {
  const ids = level.map(({ run }) => run.id);
  const cut = new Set([
    ...(await withOthersBelow(ctx, ids, [...shown])),
    ...(await callersOfOthers(ctx, ids, [...shown])),
  ]);
  for (const node of level) node.truncated = cut.has(node.run.id);
}

function attach(parent: Node, run: RunRow): Node {
  const node = nodeOf(run, relationTo(parent.run.id, run));
  parent.children.push(node);
  return node;
}

interface Child {
  readonly parent: Node;
  readonly run: RunRow;
}

/** What the runs of a level began, as far as there is room for it; what is shown already is among it. */
async function below(ctx: OpContext, level: readonly Node[], room: number): Promise<Child[]> {
  const ids = level.map(({ run }) => run.id);
  const limit = room + MOST_RUNS;
  const known = await childrenOf(ctx, ids, limit);
  const calls = await calledBy(ctx, ids, limit);
  const called = new Map(calls.map(({ run_id, child_run_id }) => [child_run_id, run_id]));
  const unknown = [...called.keys()].filter((id) => !known.some((run) => run.id === id));
  const parents = new Map(level.map((node) => [node.run.id, node]));
  const runs = [...known, ...(await runsByIds(ctx, unknown))];
  return runs.flatMap((run) => {
    const parent = parents.get(originOf(run) ?? '') ?? parents.get(called.get(run.id) ?? '');
    return parent ? [{ parent, run }] : [];
  });
}

function view({ run, relation, children, truncated }: Node): Tree {
  const sorted = children.toSorted((one, other) => one.run.created_at.getTime() - other.run.created_at.getTime());
  return { run: toListed(run), relation, children: sorted.map(view), truncated };
}
