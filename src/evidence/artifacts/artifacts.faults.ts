import { fault } from '../../platform/faults/faults.ts';

export const ArtifactNotFound = fault('artifact.not_found', 'not_found', 'The run has no such artifact');
export const ArtifactTooLarge = fault('artifact.too_large', 'too_large', 'The artifact is larger than its limit');
/** It is part of what an event said. */
export const ArtifactNotWritable = fault(
  'artifact.not_writable',
  'conflict',
  'This artifact was taken from an event: a worker may overwrite only what it wrote as an artifact',
);
