import type { z } from 'zod';
import { wireTime } from '../../platform/clock/clock.ts';
import type { listGenerations } from './versions.contract.ts';
import type { GenerationRow } from './versions.store.ts';

type Info = z.output<(typeof listGenerations)['output']>[number];

export function generationView(row: GenerationRow, liveWorkers: number): Info {
  const { agent_id, generation, version, card_hash, skills_hash, source_commit, source_dirty, first_worker_id } = row;
  return {
    id: `${agent_id}.${generation}`,
    ...{ agent_id, generation, version, card_hash, skills_hash, source_commit, first_worker_id },
    source_dirty: source_dirty === 'true' ? true : source_dirty === 'false' ? false : null,
    first_seen_at: wireTime(row.created_at),
    live_worker_count: liveWorkers,
  };
}
