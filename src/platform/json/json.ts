/** The face of JSON reading and writing: what of it the rooms use. */
export { DeepJson } from './deep-json.ts';
export { depthOf, replaceTooDeep } from './depth.ts';
export { alteredByItem, alteredUnder, parseEvidence, parseStrict, problemsOf, type AlteredPlace } from './parse.ts';
export { formatPath, type JsonPath } from './path.ts';
export { anyJson, freeObject, isJsonObject, type JsonObject } from './schemas.ts';
export { canonicalJson, sha256OfCanonical, writeJson } from './write.ts';
