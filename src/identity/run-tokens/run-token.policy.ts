/** What a run token speaks for: one attempt of one run, as its agent. */
export interface RunClaim {
  readonly accountId: string;
  readonly runId: string;
  readonly agentId: string;
  readonly attempt: number;
}

/** What a token says, before anybody has looked whether it is true. */
export interface ReadRunToken {
  readonly keyId: string;
  readonly claim: RunClaim;
  /** What is signed. */
  readonly body: string;
  readonly mac: Buffer;
}

/** No handle and no other secret begins with it. */
const PREFIX = 'srt_';
const FORM = /^srt_([\w-]{1,4000})\.([\w-]{43})$/;

/** What is signed of a claim. */
export function bodyOf(keyId: string, { accountId, runId, agentId, attempt }: RunClaim): string {
  return Buffer.from(JSON.stringify([keyId, accountId, runId, agentId, attempt])).toString('base64url');
}

export function writeRunToken(body: string, mac: Buffer): string {
  return `${PREFIX}${body}.${mac.toString('base64url')}`;
}

/** Undefined for what is no run token. */
export function readRunToken(text: string): ReadRunToken | undefined {
  const [, body = '', mac = ''] = FORM.exec(text) ?? [];
  const said = body === '' ? undefined : saidIn(body);
  if (!Array.isArray(said) || said.length !== 5) return undefined;
  const [keyId, accountId, runId, agentId, attempt] = said as unknown[];
  if (![keyId, accountId, runId, agentId].every((part) => typeof part === 'string')) return undefined;
  if (!Number.isInteger(attempt)) return undefined;
  const claim = { accountId, runId, agentId, attempt } as RunClaim;
  return { keyId: keyId as string, claim, body, mac: Buffer.from(mac, 'base64url') };
}

function saidIn(body: string): unknown {
  try {
    return JSON.parse(Buffer.from(body, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}
