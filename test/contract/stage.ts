import { OperationRegistry } from '../../src/platform/operation/registry.ts';
import { isRead, type Operation } from '../../src/platform/operation/operation.ts';
import { startApp, type AppOptions, type RunningApp } from '../support/app.ts';
import { SAMPLES } from '../support/samples.ts';
import type { Sample, Sampled } from '../support/samples/sample.ts';
import type { ApiDocument } from './documents.ts';
import { exchange, requestOf, type Answer } from './exchange.ts';
import { Tenant } from './tenant.ts';

/** A row of the audit trail, as far as the sweep looks at it. */
export interface AuditRow {
  readonly account_id: string;
  readonly operation: string;
  readonly outcome: string;
  readonly actor_id: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Waits are the product's, only shorter: an invoke is answered although no worker comes. */
const SHORT_WAITS = {
  SIGNALBOX_INVOKE_WAIT_SECONDS: '0.1',
  SIGNALBOX_INVOKE_UNREACHABLE_SECONDS: '1',
  SIGNALBOX_DRAIN_SECONDS: '1',
  SIGNALBOX_FAILED_CREDENTIALS_PER_MINUTE: '1000000',
  SIGNALBOX_DEV_LOGIN: 'on',
  SIGNALBOX_CLAIM_REFUSAL_WAIT_SECONDS: '0',
};

/** A whole application with two accounts that must not learn of each other. */
export class Stage {
  readonly app: RunningApp;
  readonly home: Tenant;
  readonly foreign: Tenant;

  private constructor(app: RunningApp, home: Tenant, foreign: Tenant) {
    this.app = app;
    this.home = home;
    this.foreign = foreign;
  }

  static async open(options: AppOptions = {}): Promise<Stage> {
    const app = await startApp({ ...options, env: { ...SHORT_WAITS, ...options.env } });
    return new Stage(app, new Tenant(app.url, await app.account()), new Tenant(app.url, await app.account()));
  }

  /** The operations that the program really serves. */
  get operations(): Operation[] {
    return this.app.nest
      .get(OperationRegistry)
      .all()
      .map(({ op }) => op);
  }

  async document(): Promise<ApiDocument> {
    const { json } = await exchange(this.app.url, { method: 'GET', path: '/api/openapi.json' });
    return json as ApiDocument;
  }

  /** Calls an operation with a sample, as its rightful caller unless another key is given. */
  call({ op }: Sampled, sample: Sample, key: string | undefined = rightfulKey(op, sample, this.home)): Promise<Answer> {
    return exchange(this.app.url, requestOf(op, sample, key));
  }

  async rowsOf({ requestId }: Answer): Promise<AuditRow[]> {
    return this.app.database.query<AuditRow & Record<string, unknown>>(
      'SELECT account_id, action, operation, outcome, actor_id, detail FROM audit_entry WHERE request_id = $1',
      [requestId],
    );
  }
}

/** The credential that opens an operation: none, the worker's own token, or the owner's key. */
export function rightfulKey(op: Operation, { token }: Sample, { key }: Tenant): string | undefined {
  if (isOpen(op)) return undefined;
  if (op.sessionsOnly) return token;
  if (!isForWorkers(op)) return key;
  if (token === undefined) throw new Error(`The sample of ${op.id} has no worker token`);
  return token;
}

export function isOpen({ capability }: Operation): boolean {
  return typeof capability === 'object' && 'anyoneBecause' in capability;
}

export function isForWorkers({ capability }: Operation): boolean {
  return typeof capability === 'object' && 'onlyWorkers' in capability;
}

/** What a valid call is answered with. */
export function successOf({ http, frame }: Operation, { answers }: Sample): number {
  return answers ?? http?.status ?? (frame?.reply ? 200 : 202);
}

/** The samples of the operations for which a test makes sense, in the form that `describe.each` takes. */
export function samplesWhere(holds: (op: Operation) => boolean): [id: string, sampled: Sampled][] {
  return [...SAMPLES].filter(([, { op }]) => holds(op));
}

export function sampledOf(id: string): Sampled {
  const sampled = SAMPLES.get(id);
  if (!sampled) throw new Error(`There is no sample of ${id}`);
  return sampled;
}

export function isMutation(op: Operation): boolean {
  return !isRead(op);
}
