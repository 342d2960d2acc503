import { writeJson, type JsonObject } from '../../platform/json/json.ts';

/** What the first worker of an agent is started with. */
export interface Install {
  readonly handle: string;
  readonly displayName: string;
  readonly model: string;
  readonly instructions: string;
  readonly replicaCount: number;
  readonly mcpServers: readonly JsonObject[];
  readonly skills: readonly JsonObject[];
  /** Where workers reach this installation. */
  readonly url: string;
  readonly token: string;
  readonly modelKey: string | null;
  /** The credential whose value is the key for the model. */
  readonly credential: string | null;
}

/** By the names that the worker SDK reads; what is not given is left to its defaults. */
function environmentOf({ url, token, handle, displayName, model, credential, modelKey }: Install): [string, string][] {
  const variables: [string, string | null][] = [
    ['AGENTOPS_URL', url],
    ['AGENTOPS_WORKER_TOKEN', token],
    ['AGENTOPS_AGENT_ID', handle],
    ['AGENTOPS_AGENT_NAME', displayName],
    ['AGENTOPS_MODEL', model],
    ['AGENTOPS_LLM_CREDENTIAL_REF', credential],
    ['ANTHROPIC_API_KEY', modelKey],
  ];
  return variables.filter((variable): variable is [string, string] => Boolean(variable[1]));
}

/** One line of a POSIX shell. */
export function commandOf(install: Install): string {
  const variables = environmentOf(install).map(([name, value]) => `${name}=${quoted(value)}`);
  return [...variables, 'python worker.py'].join(' ');
}

/** A YAML document. Each value is JSON, which YAML includes, so nothing in a text can be taken for YAML. */
export function valuesOf(install: Install): string {
  const { handle: agentId, displayName, model, replicaCount, instructions, mcpServers, skills } = install;
  const fields = { agentId, displayName, model, replicaCount, instructions, mcpServers, skills };
  return [
    '# Of one deployment of the agent’s workers. It holds the worker token, which is shown only here.',
    ...Object.entries(fields).map(([name, value]) => `${name}: ${yaml(value)}`),
    'env:',
    ...environmentOf(install).map(([name, value]) => `  ${name}: ${yaml(value)}`),
    '',
  ].join('\n');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Characters that JSON allows in a text and YAML does not, or takes for the end of a line. */
const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

function yaml(value: unknown): string {
  return writeJson(value).replace(UNPRINTABLE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
