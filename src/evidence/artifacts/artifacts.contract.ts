import { z } from 'zod';
import { fault } from '../../platform/faults/faults.ts';
import { operation } from '../../platform/operation/operation.ts';
import { RunId, RunNotFound } from '../../runs/index.ts';

export const ArtifactNotFound = fault('artifact.not_found', 'not_found', 'The run has no such artifact');

const summary = {
  artifact_id: z.string(),
  run_id: z.string(),
  name: z.string(),
  mime_type: z.string(),
  created_at: z.string(),
  // Ours beside the contract's.
  bytes: z.int(),
  is_cut: z.boolean(),
};

const ArtifactSummary = z.object(summary).meta({ id: 'ArtifactSummary' });
const ArtifactDetail = z.object({ ...summary, content: z.string() }).meta({ id: 'ArtifactDetail' });

export const listArtifacts = operation({
  id: 'evidence.list_artifacts',
  summary: 'Lists the artifacts of a run without their contents.',
  http: { method: 'GET', path: '/api/v1/runs/{run_id}/artifacts', status: 200 },
  capability: 'run.read',
  scope: ({ run_id }) => ({ run: run_id }),
  input: { path: z.object({ run_id: RunId }) },
  output: z.array(ArtifactSummary),
  faults: [RunNotFound],
});

export const getArtifact = operation({
  id: 'evidence.get_artifact',
  summary: 'Shows an artifact of a run whole.',
  http: { method: 'GET', path: '/api/v1/runs/{run_id}/artifacts/{artifact_id}', status: 200 },
  capability: 'run.read',
  scope: ({ run_id }) => ({ run: run_id }),
  input: { path: z.object({ run_id: RunId, artifact_id: z.string().min(1).max(200) }) },
  output: ArtifactDetail,
  faults: [RunNotFound, ArtifactNotFound],
});
