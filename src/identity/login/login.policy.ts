const LONGEST = 2_000;
/** Browsers take a backslash for a slash, and pass over control characters. */
const UNSAFE = /[\p{Cc}\\]/u;
const ANYWHERE = 'http://local.invalid';

/**
 * Where a sign-in ends: a path of this installation, whatever was asked for, written so that a header can hold it. Never one of
 * the sign-in itself, which would go round.
 */
export function safeNext(text: string): string {
  if (text.length > LONGEST || !isLocal(text) || !isLocal(decoded(text))) return '/';
  const { origin, pathname, search, hash } = new URL(text, ANYWHERE);
  const path = `${pathname}${search}${hash}`;
  return origin === ANYWHERE && isLocal(path) && !/^\/auth(\/|$)/.test(pathname) ? path : '/';
}

function isLocal(text: string): boolean {
  return text.startsWith('/') && !text.startsWith('//') && !UNSAFE.test(text);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.split(/[?#]/)[0] ?? '');
  } catch {
    return '';
  }
}

/** What the browser keeps of a sign-in that is under way: signed, so that the answer belongs to who began it. */
export interface SignInUnderWay {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly next: string;
  readonly isSilent: boolean;
  /** Milliseconds since 1970. */
  readonly endsAtMs: number;
}

export function underWayIn(said: unknown, nowMs: number): SignInUnderWay | undefined {
  if (typeof said !== 'object' || said === null) return undefined;
  const { state, nonce, verifier, next, isSilent, endsAtMs } = said as Partial<SignInUnderWay>;
  if (![state, nonce, verifier, next].every((text) => typeof text === 'string') || typeof endsAtMs !== 'number')
    return undefined;
  return endsAtMs > nowMs ? ({ state, nonce, verifier, next, isSilent, endsAtMs } as SignInUnderWay) : undefined;
}

/** Whom the provider vouches for. */
export interface Vouched {
  readonly issuer: string;
  readonly subject: string;
  /** Only one that the provider has verified. */
  readonly email: string | undefined;
  readonly name: string | null;
  readonly picture: string | null;
}

type Claims = Readonly<Record<string, unknown>>;

export function vouchedIn(claims: Claims): Vouched {
  const { iss, sub, email, email_verified, name, picture } = claims;
  const isMail = typeof email === 'string' && email.length <= 320 && /^[^@\s\p{Cc}]+@[^@\s\p{Cc}]+$/u.test(email);
  return {
    issuer: String(iss),
    subject: String(sub),
    email: isMail && email_verified === true ? email.toWellFormed() : undefined,
    name: shown(name),
    picture: typeof picture === 'string' && /^https:\/\//.test(picture) ? shown(picture) : null,
  };
}

function shown(text: unknown): string | null {
  return typeof text === 'string' && text !== ''
    ? text
        .replaceAll(/\p{Cc}/gu, ' ')
        .toWellFormed()
        .slice(0, 500)
    : null;
}
