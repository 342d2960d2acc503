/** What can go wrong between a worker and its control plane, in sentences that say what to do. */

import { isObject } from './json.ts';

/** What the worker was started with cannot work: no token, an address that is none. Nothing was sent. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

/** A handler's failure with details: `diagnostics` are kept with the run, beside its error. */
export class RunFailure extends Error {
  override readonly name = 'RunFailure';
  readonly diagnostics: Record<string, unknown>;

  constructor(message: string, diagnostics: Record<string, unknown>) {
    super(message);
    this.diagnostics = diagnostics;
  }
}

/** A tool call that may not be made: somebody denied it, or nobody decided in time. */
export class ApprovalRefused extends Error {
  override readonly name = 'ApprovalRefused';
  /** `denied`, `expired`, `withdrawn` or `declined_act_off`. */
  readonly state: string;

  constructor(tool: string, state: string, reason: string | undefined) {
    super(`${tool} was not allowed (${state})${reason === undefined ? '' : `: ${reason}`}`);
    this.state = state;
  }
}

/** Nothing answered: no connection, or no answer in time. It passes. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';

  constructor(url: string, cause: unknown) {
    super(`${url} cannot be reached (${reasonOf(cause)})`, { cause });
  }
}

/** The control plane, or something in its place, answered, and the answer was no. */
export class Refused extends Error {
  override readonly name = 'Refused';
  /** The HTTP status. */
  readonly status: number;
  /** The control plane's code, such as `auth.revoked`; undefined when the answer is not one of a control plane. */
  readonly code: string | undefined;
  /** How long to wait before the next try, in milliseconds, where the answer says so. */
  readonly retryAfter: number | undefined;

  constructor(what: string, url: string, answer: { status: number; text: string; headers: Headers }) {
    const { code, detail } = parseFault(answer.text);
    const said = code === undefined ? 'without a word of a control plane' : `${code}: ${detail}`;
    super(`${what} was answered ${answer.status}, ${said}${adviceFor(answer, code, url)}`);
    this.status = answer.status;
    this.code = code;
    const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
    this.retryAfter = Number.isFinite(seconds) ? seconds * 1_000 : undefined;
  }

  /**
   * Whether another try is pointless: the token is dead, or what was sent is not acceptable. A 404 that is not the control
   * plane's is an ingress with nothing behind it at the moment.
   */
  get isFinal(): boolean {
    const passes = this.status === 429 || this.status === 408 || (this.status === 404 && this.code === undefined);
    return this.status < 500 && !passes;
  }

  /** Whether the token opens nothing here, now or ever. */
  get isAboutToken(): boolean {
    return this.status === 401 || this.status === 403;
  }
}

/** The control plane understood a frame and could not do what it asks (worker-protocol §3). */
export class Declined extends Error {
  override readonly name = 'Declined';
  readonly code: string;
  readonly retryable: boolean;

  constructor(what: string, payload: Record<string, unknown>) {
    super(`${what} was declined, ${String(payload['code'])}: ${String(payload['message'] ?? 'no reason was given')}`);
    this.code = String(payload['code']);
    this.retryable = payload['retryable'] !== false;
  }
}

/** Whether another try is pointless. */
export function isFinal(error: unknown): boolean {
  if (error instanceof Declined) return !error.retryable;
  return error instanceof Refused && error.isFinal;
}

/** The control plane does not know this worker (any more), which has to register again. */
export function isForgotten(error: unknown): boolean {
  return error instanceof Refused && error.code === 'worker.not_registered';
}

/** An error in one line. */
export function sentence(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : String(error);
}

function parseFault(text: string): { code?: string; detail: string } {
  try {
    const fault: unknown = JSON.parse(text);
    if (!isObject(fault) || typeof fault['code'] !== 'string') return { detail: '' };
    const { code, detail } = fault;
    return { code, detail: (typeof detail === 'string' ? detail : JSON.stringify(detail)).slice(0, 300) };
  } catch {
    return { detail: '' };
  }
}

function adviceFor({ status, headers }: { status: number; headers: Headers }, code: string | undefined, url: string) {
  const location = headers.get('location');
  if (status >= 300 && status < 400) return `: it points to ${location ?? 'elsewhere'}; use that address`;
  if (code === undefined && status < 500) return `: is ${url} the address of a Signalbox control plane?`;
  if (status === 401)
    return '; the worker token is wrong, expired or revoked: mint one with POST /api/v1/agents/worker-token';
  return '';
}

/** `fetch` hides the reason below its own error. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return 'no answer in time';
  const cause = error instanceof Error ? error.cause : undefined;
  if (isObject(cause) && typeof cause['code'] === 'string') {
    const { code, address, port, hostname } = cause;
    const place = address === undefined ? hostname : `${String(address)}:${String(port)}`;
    return place === undefined ? code : `${code} ${String(place)}`;
  }
  return sentence(cause ?? error);
}
