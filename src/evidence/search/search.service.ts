import { Inject, Injectable } from '@nestjs/common';
import { AgentRegistry } from '../../agents/index.ts';
import { wireTime } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { withinTime } from '../../platform/db/time-limit.ts';
import { invalid } from '../../platform/faults/faults.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { ContentWithheld, ListTooSlow } from '../../runs/index.ts';
import type { searchEvidence } from './search.contract.ts';
import { hitCursor, hitPlace, newestFirst, rangeOf } from './search.policy.ts';
import { hasWords, indexedHits, keepsContent, unindexedHits } from './search.store.ts';

/** Finds what was said, by words. What has ended is in an index; what goes on is read as it stands, as far as that is quick. */
@Injectable()
export class EvidenceSearch {
  constructor(
    @Inject(AgentRegistry) private readonly agents: AgentRegistry,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** @throws Fault 409 `content.withheld` where the account keeps nothing that could be found. */
  async search(ctx: OpContext, query: In<typeof searchEvidence>): Promise<Out<typeof searchEvidence>> {
    const { q, agent_id, kind = null, cursor, limit } = query;
    const range = rangeOf(query, ctx.now);
    const after = hitPlace(cursor);
    if (!(await keepsContent(ctx))) throw ContentWithheld();
    if (!(await hasWords(ctx, q))) throw invalid(['query', 'q'], 'holds no word to look for');
    const agentId = agent_id === undefined ? null : await this.agents.idOf(ctx, agent_id);
    if (agentId === undefined) return [];
    const wanted = { q, ...range, agentId, kind, after, limit };
    const found = await withinTime(ctx, this.config.searchSeconds, ListTooSlow, async () => [
      ...(await unindexedHits(ctx, wanted)), // first: what is put into the index meanwhile is found there
      ...(await indexedHits(ctx, wanted)),
    ]);
    const hits = newestFirst(found, limit);
    const last = hits.at(-1);
    if (last && hits.length === limit) ctx.header('x-next-cursor', hitCursor(last));
    ctx.note({ agent_id: agentId, kind, from: wireTime(range.from), to: wireTime(range.to), hits: hits.length });
    return hits.map(({ micros: _, at, ...hit }) => ({ ...hit, at: wireTime(at) }));
  }
}
