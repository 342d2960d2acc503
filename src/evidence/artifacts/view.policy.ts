import { wireTime } from '../../platform/clock/clock.ts';
import type { ArtifactRow } from './artifacts.store.ts';

export function toArtifactSummary(runId: string, { id, name, mime_type, bytes, is_cut, created_at }: ArtifactRow) {
  return { artifact_id: id, run_id: runId, name, mime_type, created_at: wireTime(created_at), bytes, is_cut };
}
