/** The face of JSON reading and writing: what of it the rooms use. */
export { DeepJson } from './deep-json.ts';
export { depthOf, replaceTooDeep, type DepthRule } from './depth.ts';
export {
  alteredByItem,
  alteredUnder,
  parseEvidence,
  parseStrict,
  problemsOf,
  type AlteredPlace,
  type ReadEvidence,
  type StrictJson,
} from './parse.ts';
export { formatPath, type JsonPath } from './path.ts';
export { scanJson, type JsonHazards } from './scan.ts';
export { anyJson, freeObject, isJsonObject, type JsonObject } from './schemas.ts';
export { canonicalJson, sha256OfCanonical, writeJson } from './write.ts';
