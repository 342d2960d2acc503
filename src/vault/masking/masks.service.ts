import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { accountKey } from '../../platform/bus/keys.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import { HandedOut } from '../supplies/handed-out.service.ts';
import { NOTHING_OUT, handedOut } from './handouts.policy.ts';
import { Masking } from './mask.policy.ts';
import { Matcher } from './matcher.policy.ts';

/** What all matchers may take together, and how many runs are remembered. What is not is asked for again. */
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_RUNS = 20_000;

const NO_VALUES = Matcher.of([]);
const VERSION = `SELECT ${handedOut({ account: '$1', run: '$2', agent: '$3', worker: '$4' })} AS version`;

/** Whose words are to be masked. */
export interface Speaker {
  readonly runId: string;
  readonly agentId: string;
  readonly workerId: string;
}

interface Known {
  readonly version: string;
  readonly matcher: Matcher;
}

interface Shared {
  readonly digest: string;
  readonly matcher: Matcher;
}

/**
 * The matchers of runs, made from what was handed out for them. Runs with the same values share one; who has not been heard of
 * for longest goes first.
 */
@Injectable()
export class Masks {
  private readonly runs = new Map<string, Known>();
  private readonly shared = new Map<string, Shared>();
  private bytes = 0;

  constructor(@Inject(HandedOut) private readonly handedOut: HandedOut) {}

  /** Masks what is said of a run in the operation's own transaction: `(await masks.of(ctx, speaker)).text(name, 'name')`. */
  async of(ctx: Pick<OpContext, 'actor' | 'sql'>, { runId, agentId, workerId }: Speaker): Promise<Masking> {
    const { accountId } = ctx.actor;
    const [row] = await ctx.sql<{ version: string }>(VERSION, [accountId, runId, agentId, workerId]);
    return new Masking(await this.matcherOf(accountId, runId, row?.version ?? NOTHING_OUT));
  }

  /** Finds at least what had been handed out when `version` was read. */
  async matcherOf(accountId: string, runId: string, version: string): Promise<Matcher> {
    if (version === NOTHING_OUT) return NO_VALUES;
    const key = accountKey(accountId, runId);
    const known = this.runs.get(key);
    this.runs.delete(key); // what is used stands last
    if (known?.version === version) {
      this.runs.set(key, known);
      return known.matcher;
    }
    const matcher = this.matcherFor(await this.handedOut.valuesFor(accountId, runId));
    this.runs.set(key, { version, matcher });
    for (const oldest of this.runs.keys()) {
      if (this.runs.size <= MOST_RUNS) break;
      this.runs.delete(oldest);
    }
    return matcher;
  }

  private matcherFor(values: readonly string[]): Matcher {
    const digest = createHash('sha256')
      .update(JSON.stringify([...values].sort()))
      .digest('hex');
    const known = this.shared.get(digest);
    if (known) {
      this.shared.delete(digest);
      this.shared.set(digest, known);
      return known.matcher;
    }
    const matcher = Matcher.of(values);
    this.bytes += matcher.bytes;
    for (const {
      digest: oldest,
      matcher: { bytes },
    } of this.shared.values()) {
      if (this.bytes <= MOST_BYTES) break;
      this.forget(oldest, bytes);
    }
    this.shared.set(digest, { digest, matcher });
    return matcher;
  }

  private forget(digest: string, bytes: number): void {
    const gone = this.shared.get(digest)?.matcher;
    this.shared.delete(digest);
    this.bytes -= bytes;
    for (const [key, { matcher }] of this.runs) if (matcher === gone) this.runs.delete(key);
  }
}
