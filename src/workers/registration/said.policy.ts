import { isJsonObject, sha256OfCanonical, type JsonObject } from '../../platform/json/json.ts';
import type { In } from '../../platform/operation/operation.ts';
import { dialectOf, slotsOf, type Dialect } from './dialect.policy.ts';
import { withoutLogin } from './endpoint.policy.ts';
import type { beat } from './heartbeats.contract.ts';
import type { registerWorker } from './registration.contract.ts';

/** What a worker says of itself and of its agent, by whichever way. */
export interface Said {
  readonly workerId: string;
  readonly way: 'frame' | 'heartbeat';
  readonly dialect: Dialect;
  readonly manifest: JsonObject;
  /** What the manifest is called in the body. */
  readonly at: 'manifest' | 'agent';
  /** Undefined: as before. */
  readonly skills: readonly unknown[] | undefined;
  readonly skillsHash: string;
  readonly slots: number;
  /** The same for all that say the same. */
  readonly digest: Buffer;
}

/** Who registers by a frame reads frames, whatever its manifest leaves out. */
export function saidIn({ worker_id, manifest, skills, skills_hash, max_concurrent }: In<typeof registerWorker>): Said {
  const dialect = dialectOf(manifest);
  return {
    workerId: worker_id,
    way: 'frame',
    dialect: dialect === '0.1' ? '0.2' : dialect,
    at: 'manifest',
    slots: slotsOf(max_concurrent, manifest),
    ...withSkills(manifest, skills ?? undefined, skills_hash ?? undefined),
  };
}

/** SDK 0.1 has the skills in the manifest, until a beat has arrived; after that only their hash comes. */
export function saidBy({ worker_id, agent, 'x-skills-hash': hash }: In<typeof beat>): Said {
  const { skills, ...manifest } = agent;
  return {
    workerId: worker_id,
    way: 'heartbeat',
    dialect: dialectOf(agent),
    at: 'agent',
    slots: slotsOf(undefined, manifest),
    ...withSkills(manifest, Array.isArray(skills) ? skills.filter(isJsonObject) : undefined, hash ?? undefined),
  };
}

/** Who names no hash is taken at its skills' word, so that other skills make another version of the agent. */
function withSkills(
  manifest: JsonObject,
  skills: readonly unknown[] | undefined,
  hash: string | undefined,
): Pick<Said, 'manifest' | 'skills' | 'skillsHash' | 'digest'> {
  const skillsHash = hash ?? (skills && skills.length > 0 ? sha256OfCanonical(skills).toString('hex') : '');
  const shown = withoutLogin(manifest);
  return { manifest: shown, skills, skillsHash, digest: sha256OfCanonical([skillsHash, shown]) };
}
