/** The face of the room: what happened. */
export { EvidenceModule } from './evidence.module.ts';
export { StreamTooMany } from './stream/stream.contract.ts';
export { RunStreams, type StreamOptions } from './stream/stream.service.ts';
