import type { Browser } from '../../platform/operation/ports.ts';

/** The cookie of a session. The served document names it too. */
export const SESSION_COOKIE = 'signalbox_session';

/** What the cookie says of its session; the row decides. */
export interface SessionClaim {
  readonly sid: string;
  /** Milliseconds since 1970 by the clock of whoever made it: after that the session is over, whatever was renewed. */
  readonly cappedAtMs: number;
}

/** Undefined for what is no claim. */
export function claimIn(said: unknown): SessionClaim | undefined {
  if (!Array.isArray(said) || said.length !== 2) return undefined;
  const [sid, cappedAtMs] = said as unknown[];
  return typeof sid === 'string' && typeof cappedAtMs === 'number' ? { sid, cappedAtMs } : undefined;
}

/** The origin that people know this installation by. */
export function ownOrigin({ called }: Pick<Browser, 'called'>, publicUrl: string | undefined): string {
  return publicUrl === undefined ? called : new URL(publicUrl).origin;
}

/** Whether a call that changes something was made by a page of ours: browsers send cookies with the calls of any page. */
export function isFromOwnPage(browser: Browser, publicUrl: string | undefined): boolean {
  return !browser.changes || browser.origin === ownOrigin(browser, publicUrl);
}
