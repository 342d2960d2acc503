import { isJsonObject } from '../../platform/json/json.ts';

/** What a value is: one text, or several under names (worker-protocol.md A12). */
export type SecretValue = string | Readonly<Record<string, string>>;

/** Linux takes no longer text into the environment of a process, and that is where workers put values. */
const LONGEST_BYTES = 131_072;
const MOST_PARTS = 500;
/** The run token has this name in every job (worker-protocol.md A10). */
export const RUN_TOKEN_NAME = 'AGENTOPS_MCP_TOKEN';

/** A value that is a JSON object of texts, and not an empty one, has parts. */
export function readValue(text: string): SecretValue {
  if (!/^\s*\{/.test(text)) return text;
  const read = readObject(text);
  const parts = Object.values(read ?? {});
  return parts.length > 0 && parts.every((part) => typeof part === 'string') ? (read as SecretValue) : text;
}

export function partNames(value: SecretValue): string[] {
  return typeof value === 'string' ? [] : Object.keys(value);
}

/** Why no worker could take a value, in words that tell nothing of it; undefined where any can. */
export function valueProblem(text: string): string | undefined {
  if (Buffer.byteLength(text) > LONGEST_BYTES)
    return `is longer than ${LONGEST_BYTES} bytes, which no environment holds`;
  const value = readValue(text);
  const texts = typeof value === 'string' ? [value] : [...Object.keys(value), ...Object.values(value)];
  if (texts.some((one) => one.includes('\0') || !one.isWellFormed()))
    return 'must not contain NUL or half of a surrogate pair, in any of its parts';
  if (partNames(value).length > MOST_PARTS) return `has more than ${MOST_PARTS} parts`;
  if (partNames(value).some((name) => name === '' || name.includes('=')))
    return 'has a part whose name is empty or holds an equals sign: no environment takes it';
  return undefined;
}

/** How the SDK writes names into the environment. */
export function environmentName(name: string): string {
  return name.toUpperCase().replaceAll('-', '_');
}

/** Names that jobs use themselves. */
export function isReserved(name: string): boolean {
  return environmentName(name) === RUN_TOKEN_NAME;
}

function readObject(text: string): Record<string, unknown> | undefined {
  try {
    const read: unknown = JSON.parse(text);
    return isJsonObject(read) ? read : undefined;
  } catch {
    return undefined;
  }
}
