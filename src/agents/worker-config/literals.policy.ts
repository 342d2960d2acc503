import { isJsonObject } from '../../platform/json/json.ts';

/** Names whose values let somebody in, by their last word: `X-Api-Key`, `GITHUB_TOKEN`, `clientSecret`. */
const SECRET_WORD =
  /(token|secret|password|passwd|passphrase|credentials?|authorization|cookie|apikey|accesskey|privatekey)$/;
const SECRET_WORDS: readonly string[] = ['auth', 'key', 'pwd', 'pat', 'bearer'];
/** What may stand before a reference: the name of a scheme, as in `Bearer ${TOKEN}`. */
const SCHEME = /^(bearer|basic|token|apikey|digest)\s+/i;
const REFERENCE = /\$\{[A-Za-z_][A-Za-z0-9_]*\}/g;
/** Secrets that give themselves away, wherever they stand. */
const KNOWN_FORMS =
  /\b(sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.)/;
const BEARER = /\bbearer\s+(?!\$\{)\S/i;
const USER_INFO = /^[a-z][a-z0-9+.-]*:\/\/([^/?#@]*)@/i;
const OPTION = /^--?([A-Za-z][\w-]*)(?:=(.*))?$/s;

/** Where in a server entry a secret stands in clear text. References to secrets by name, `${NAME}`, are what belongs there. */
export function literalSecrets(server: Readonly<Record<string, unknown>>): (readonly (string | number)[])[] {
  return found(server, []);
}

function found(value: unknown, at: readonly (string | number)[]): (readonly (string | number)[])[] {
  if (typeof value === 'string') return givesItselfAway(value, at.at(-1)) ? [at] : [];
  if (Array.isArray(value))
    return value.flatMap((item: unknown, index) =>
      isLiteralOption(item, value[index - 1]) ? [[...at, index]] : found(item, [...at, index]),
    );
  if (isJsonObject(value)) return Object.entries(value).flatMap(([name, item]) => found(item, [...at, name]));
  return [];
}

function givesItselfAway(text: string, name: string | number | undefined): boolean {
  if (KNOWN_FORMS.test(text) || BEARER.test(text)) return true;
  if (typeof name === 'string' && isSecretName(name) && isLiteral(text)) return true;
  const userInfo = USER_INFO.exec(text)?.[1];
  if (userInfo !== undefined && isLiteral(userInfo.slice(userInfo.indexOf(':') + 1))) return true;
  return queryOf(text).some(([parameter, value]) => isSecretName(parameter) && isLiteral(value));
}

/** `--token abc` and `--token=abc`, as arguments of a command. */
function isLiteralOption(item: unknown, before: unknown): boolean {
  if (typeof item !== 'string') return false;
  const [, name, value] = OPTION.exec(item) ?? [];
  if (name !== undefined) return value !== undefined && isSecretName(name) && isLiteral(value);
  const [, named, joined] = typeof before === 'string' ? (OPTION.exec(before) ?? []) : [];
  return named !== undefined && joined === undefined && isSecretName(named) && isLiteral(item);
}

function isLiteral(text: string): boolean {
  return text.replace(SCHEME, '').replace(REFERENCE, '').trim() !== '';
}

function isSecretName(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return words.some((word) => SECRET_WORDS.includes(word) || SECRET_WORD.test(word));
}

function queryOf(text: string): [name: string, value: string][] {
  const query = /^[a-z][a-z0-9+.-]*:\/\/[^?#]*\?([^#]*)/i.exec(text)?.[1] ?? '';
  return query
    .split('&')
    .filter((pair) => pair.includes('='))
    .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]);
}
