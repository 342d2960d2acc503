import { Inject, Injectable } from '@nestjs/common';
import { KEY_RING, type KeyRing } from '../../platform/crypto/key-ring.ts';
import { Database } from '../../platform/db/database.ts';
import { bodyOf, readRunToken, writeRunToken, type RunClaim } from './run-token.policy.ts';
import { findHolder } from './run-tokens.store.ts';

/** Whom a run token speaks for, and that it may. */
export interface ProvenRun extends RunClaim {
  readonly workerId: string;
}

/**
 * Tokens of runs (worker-protocol.md A10): what a run shows where it calls back, instead of its worker's token. A token is
 * signed and kept nowhere, so handing one out costs no statement; whether it still opens anything says the row of its run, each
 * time. No REST operation takes one: it is neither an API key nor a worker token.
 */
@Injectable()
export class RunTokens {
  constructor(
    @Inject(KEY_RING) private readonly keyRing: KeyRing,
    @Inject(Database) private readonly database: Database,
  ) {}

  /** The same for the same attempt, as long as the same key signs. */
  issue(claim: RunClaim, keyId = this.keyRing.active): string {
    const body = bodyOf(keyId, claim);
    return writeRunToken(body, this.keyRing.sign(body, keyId).bytes);
  }

  /** Every token that the attempts of a run can have been given, up to the one of `last`: for whoever looks for them in what was said. */
  everyTokenOf(last: RunClaim): string[] {
    const attempts = Array.from({ length: last.attempt }, (_, index) => index + 1);
    return attempts.flatMap((attempt) => this.keyRing.ids.map((keyId) => this.issue({ ...last, attempt }, keyId)));
  }

  /** What a token proves now: undefined when its run has ended, or is at another attempt, and for what was never issued. */
  async prove(token: string): Promise<ProvenRun | undefined> {
    const read = readRunToken(token);
    if (!read || !this.keyRing.hasSigned(read.body, { keyId: read.keyId, bytes: read.mac })) return undefined;
    const holder = await findHolder(this.database, read.claim);
    return holder && { ...read.claim, workerId: holder.workerId };
  }
}
