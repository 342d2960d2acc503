import { Inject, Injectable } from '@nestjs/common';
import { RunTokens } from '../../identity/index.ts';
import { KEY_RING, type KeyRing } from '../../platform/crypto/key-ring.ts';
import { Database } from '../../platform/db/database.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import { valueBinding } from '../credentials/credentials.store.ts';
import { findHandedOut, type HandedOutRow } from './handed-out.store.ts';
import { textsOf } from './secrets.policy.ts';

const log = new Log('vault');

/** What a run's worker was given, and may therefore say. Asks the rows, so that every replica knows it, also after a restart. */
@Injectable()
export class HandedOut {
  constructor(
    @Inject(KEY_RING) private readonly keyRing: KeyRing,
    @Inject(RunTokens) private readonly tokens: RunTokens,
    @Inject(Database) private readonly database: Database,
  ) {}

  /**
   * Every text that was handed out for a run: the values of its credentials in each version that it was given, whole and each
   * part by itself, its run tokens, and what workers of its agent got on demand. None for a run that is not there.
   */
  async valuesFor(accountId: string, runId: string): Promise<readonly string[]> {
    const rows = await findHandedOut(this.database, accountId, runId);
    const [run] = rows;
    if (!run) return [];
    const { agent_id: agentId, attempt } = run;
    const tokens = this.tokens.everyTokenOf({ accountId, runId, agentId, attempt });
    return [...new Set([...rows.flatMap((row) => this.textsIn(accountId, row)), ...tokens])];
  }

  private textsIn(accountId: string, row: HandedOutRow): string[] {
    const { credential_id: credentialId, version, sealed, sealed_key_id: keyId } = row;
    if (credentialId === null) return [];
    try {
      return textsOf(this.keyRing.open({ keyId, bytes: sealed }, valueBinding(accountId, credentialId, version)));
    } catch (error) {
      log.error('a value that was handed out cannot be opened, so it is not masked', {
        ...{ credential_id: credentialId, version, key_id: keyId, error: describeError(error) },
      });
      return [];
    }
  }
}
