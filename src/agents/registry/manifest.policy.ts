import { isJsonObject, sha256OfCanonical, type JsonObject } from '../../platform/json/json.ts';

/**
 * What an agent's columns take from a manifest. Whatever is missing or of another type than expected reads as if it had
 * not been said: a refused registration ends the worker process, and none of this is worth that.
 */
export interface ManifestFacts {
  /** The name that the author gave the agent. The token decides whose worker it is, whatever stands here. */
  readonly claimedName: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly owner: string;
  readonly repo: string;
  readonly sourcePath: string;
  readonly sourceCommit: string | null;
  readonly sourceDirty: boolean | null;
  readonly model: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly tools: readonly string[];
  readonly defaultInput: JsonObject;
  /** As it was sent: what is wrong with it shows as `input_schema_error`. */
  readonly inputSchema: unknown;
  readonly capabilities: JsonObject;
  readonly agentCard: JsonObject;
  readonly triggers: readonly unknown[];
}

export function readManifest(manifest: JsonObject): ManifestFacts {
  const agentCard = objectOf(manifest['agent_card']);
  const capabilities = objectOf(manifest['capabilities']);
  return {
    claimedName: textOf(manifest['agent_id']),
    name: textOf(manifest['name']),
    description: textOf(manifest['description']),
    version: textOf(manifest['version'], 'dev'),
    owner: textOf(manifest['owner']),
    repo: textOf(manifest['repo']),
    sourcePath: textOf(manifest['source_path']),
    sourceCommit: textOrNull(manifest['source_commit']),
    sourceDirty: typeof manifest['source_dirty'] === 'boolean' ? manifest['source_dirty'] : null,
    model: textOrNull(manifest['model']),
    labels: labelsOf(manifest['labels']),
    tools: listOf(manifest['tools']).filter((tool) => typeof tool === 'string'),
    defaultInput: objectOf(manifest['default_input']),
    inputSchema: manifest['input_schema'] ?? {},
    // The SDK leaves the manifest's own map empty and says them in the card.
    capabilities: Object.keys(capabilities).length > 0 ? capabilities : objectOf(agentCard['capabilities']),
    agentCard,
    triggers: listOf(manifest['triggers']),
  };
}

/** Where one process runs says nothing about its agent, and differs from one worker to the next. */
const OF_THE_PROCESS = ['cluster_name', 'namespace', 'pod_name', 'max_concurrent', 'endpoint_url'];

/** Two registrations with the same hash say the same about the agent. */
export function manifestHash(manifest: JsonObject, skillsHash: string): Buffer {
  const ofTheAgent = Object.entries(manifest).filter(([key]) => !OF_THE_PROCESS.includes(key));
  return sha256OfCanonical([ofTheAgent.toSorted(byKey), skillsHash]);
}

/** What makes a version of an agent: its code and its card, not where or how often it runs. */
export function fingerprintOf(manifest: JsonObject, skillsHash: string): Buffer {
  const { version, agentCard, sourceCommit, sourceDirty } = readManifest(manifest);
  return sha256OfCanonical([version, agentCard, skillsHash, sourceCommit, sourceDirty]);
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

function textOf(value: unknown, fallback = ''): string {
  return typeof value === 'string' ? value : fallback;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function labelsOf(value: unknown): Record<string, string> {
  const labels = Object.entries(objectOf(value)).filter(([, label]) =>
    ['string', 'number', 'boolean'].includes(typeof label),
  );
  return Object.fromEntries(labels.map(([key, label]) => [key, String(label)]));
}
