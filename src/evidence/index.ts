/** The face of the room: what happened. */
export { EvidenceModule } from './evidence.module.ts';
export { StreamTooMany } from './stream/stream.contract.ts';
export { RunStreams } from './stream/stream.service.ts';
