import { z } from 'zod';
import { operation } from '../../platform/operation/operation.ts';
import { file } from '../../platform/operation/output.ts';
import { RangeNotSatisfiable } from '../../platform/faults/faults.ts';
import { ContentWithheld, RunId, RunNotFound } from '../../runs/index.ts';
import { ArtifactNotFound } from './artifacts.faults.ts';

export const ArtifactId = z.string().min(1).max(200);

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
export const ArtifactDetail = z.object({ ...summary, content: z.string() }).meta({ id: 'ArtifactDetail' });

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
  input: { path: z.object({ run_id: RunId, artifact_id: ArtifactId }) },
  output: ArtifactDetail,
  faults: [RunNotFound, ArtifactNotFound, ContentWithheld],
});

export const downloadArtifact = operation({
  id: 'evidence.download_artifact',
  summary: 'Gives the bytes of an artifact to be saved; what is stored as base64 is unpacked.',
  http: { method: 'GET', path: '/api/v1/runs/{run_id}/artifacts/{artifact_id}/content', status: 200 },
  capability: 'run.read',
  scope: ({ run_id }) => ({ run: run_id }),
  ours: true,
  input: { path: z.object({ run_id: RunId, artifact_id: ArtifactId }) },
  output: file,
  faults: [RunNotFound, ArtifactNotFound, RangeNotSatisfiable, ContentWithheld],
});
