import { z } from 'zod';
import { operation, unaudited, workerToken } from '../../platform/operation/operation.ts';
import { AttemptNumber, RunId, RunNotFound, RunStaleAttempt, RunTerminal } from '../../runs/index.ts';
import { WorkerPath } from '../../workers/index.ts';
import { ArtifactDetail, ArtifactId } from './artifacts.contract.ts';
import { ArtifactNotFound, ArtifactNotWritable, ArtifactTooLarge } from './artifacts.faults.ts';

const OWN_RECORD = unaudited('evidence is itself the record');
/** A name stands in the run's sequence, too: a longer one is a content. */
const LONGEST_NAME = 1_000;
const LONGEST_TYPE = 255;

const written = {
  name: z.string().max(LONGEST_NAME),
  content: z.string(),
  mime_type: z.string().max(LONGEST_TYPE).default('text/plain'),
};

export const createArtifact = operation({
  id: 'evidence.create_artifact',
  summary: 'Adds an artifact to a run that the worker holds.',
  http: { method: 'POST', path: '/api/v1/runs/{run_id}/artifacts', status: 200 },
  transaction: 'none',
  capability: workerToken,
  audit: OWN_RECORD,
  evidence: true,
  bulk: true,
  bodyLimit: 'artifact',
  input: { path: z.object({ run_id: RunId }), body: z.object(written).meta({ id: 'CreateArtifactRequest' }) },
  output: ArtifactDetail,
  faults: [RunNotFound, ArtifactTooLarge, RunTerminal, RunStaleAttempt],
});

export const updateArtifact = operation({
  id: 'evidence.update_artifact',
  summary: 'Overwrites an artifact that a worker has written.',
  http: { method: 'PUT', path: '/api/v1/runs/{run_id}/artifacts/{artifact_id}', status: 200 },
  transaction: 'none',
  capability: workerToken,
  audit: OWN_RECORD,
  evidence: true,
  bulk: true,
  bodyLimit: 'artifact',
  input: {
    path: z.object({ run_id: RunId, artifact_id: ArtifactId }),
    body: z.object(written).meta({ id: 'UpdateArtifactRequest' }),
  },
  output: ArtifactDetail,
  faults: [RunNotFound, ArtifactNotFound, ArtifactNotWritable, ArtifactTooLarge, RunTerminal, RunStaleAttempt],
});

export const writeArtifact = operation({
  id: 'evidence.write_artifact',
  summary: 'Adds an artifact to a run, or overwrites one.',
  frame: { type: 'artifact_write_request', reply: 'artifact_stored' },
  transaction: 'none',
  capability: workerToken,
  audit: OWN_RECORD,
  evidence: true,
  bulk: true,
  input: {
    path: WorkerPath,
    body: z.object({ run_id: RunId, artifact_id: ArtifactId.nullish(), attempt: AttemptNumber.nullish(), ...written }),
  },
  output: z.object({ artifact_id: z.string() }),
  faults: [RunNotFound, ArtifactNotFound, ArtifactNotWritable, ArtifactTooLarge, RunTerminal, RunStaleAttempt],
});
