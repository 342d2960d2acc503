import { Inject, Injectable } from '@nestjs/common';
import { AuditLedger } from '../../audit/index.ts';
import { Clock } from '../../platform/clock/clock.ts';
import { hashOf, newSecret } from '../../platform/crypto/secrets.ts';
import { violatedConstraint } from '../../platform/db/database-errors.ts';
import { Database } from '../../platform/db/database.ts';
import type { Transaction } from '../../platform/db/transaction.ts';
import { invalid } from '../../platform/faults/faults.ts';
import { newId } from '../../platform/ids/ids.ts';
import { RoleAssigner } from '../../platform/operation/ports.ts';
import { AccountSlugTaken } from './accounts.faults.ts';
import { isSlug } from './accounts.policy.ts';

export interface NewAccount {
  readonly slug: string;
  /** Absent: the slug. */
  readonly name?: string;
  readonly ownerEmail: string;
  /** The owner's first API key. Absent: one is made. */
  readonly apiKey?: string | undefined;
}

export interface CreatedAccount {
  readonly accountId: string;
  readonly ownerId: string;
  /** The owner's API key: kept nowhere else. */
  readonly key: string;
}

const FIRST_SLUG = 'default';
const OWNER_ROLE = 'role_admin';
const FIRST_KEY_NAME = 'First key';

/** Replicas that start at the same time: one makes the account, the others find it. */
const LOCK_FIRST_START = `SELECT pg_advisory_xact_lock(hashtext('signalbox first start'))`;
const ANY_ACCOUNT = 'SELECT 1 FROM account LIMIT 1';
const INSERT_ACCOUNT = 'INSERT INTO account (id, slug, name) VALUES ($1, $2, $3)';
/** The installation belongs to whoever has its first account. */
const INSERT_PERSON = `
  INSERT INTO person (id, email, is_system_admin) VALUES ($2, $3, NOT EXISTS (SELECT FROM account WHERE id <> $1))
  ON CONFLICT DO NOTHING`;
const INSERT_OWNER = `
  INSERT INTO principal (account_id, id, kind, name, email, user_id)
  SELECT $1, $2, 'person', $3, $3, id FROM person WHERE lower(email) = lower($3)`;
const INSERT_KEY = `
  INSERT INTO api_key (account_id, id, principal_id, name, scopes, secret_hash, created_by)
  VALUES ($1, $2, $3, $4, '{}', $5, $3)`;

/** Makes accounts, as work of the installation itself: at the first start, and for the operator's command. */
@Injectable()
export class Accounts {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(RoleAssigner) private readonly roles: RoleAssigner,
    @Inject(AuditLedger) private readonly ledger: AuditLedger,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * Makes an account with an owner who holds everything in it, and the owner's first API key.
   * @throws Fault 422 for a slug that is none, 409 `account.slug_taken`.
   */
  async create(wanted: NewAccount): Promise<CreatedAccount> {
    assertSlug(wanted.slug);
    try {
      return await this.database.asSystem('create an account', (system) => this.insert(system, wanted), 'write');
    } catch (error) {
      if (violatedConstraint(error) !== 'account_slug_key') throw error;
      throw AccountSlugTaken({ message: `There is an account ${wanted.slug} already`, cause: error });
    }
  }

  /** Makes the first account, unless there is one. The key is told only to the one call that made it. */
  async bootstrap(wanted: Pick<NewAccount, 'ownerEmail' | 'apiKey'>): Promise<{ created: boolean; key?: string }> {
    return this.database.asSystem(
      'first start',
      async (system) => {
        await system.query({ text: LOCK_FIRST_START, values: [] });
        if ((await system.query({ text: ANY_ACCOUNT, values: [] })).length > 0) return { created: false };
        const { key } = await this.insert(system, { ...wanted, slug: FIRST_SLUG });
        return { created: true, key };
      },
      'write',
    );
  }

  private async insert(system: Transaction, wanted: NewAccount): Promise<CreatedAccount> {
    const { slug, name = slug, ownerEmail, apiKey: key = newSecret('sk') } = wanted;
    const [accountId, ownerId, keyId] = [this.newId('account'), this.newId('principal'), this.newId('apiKey')];
    await system.query({ text: INSERT_ACCOUNT, values: [accountId, slug, name] });
    await system.query({ text: INSERT_PERSON, values: [accountId, this.newId('user'), ownerEmail] });
    await system.query({ text: INSERT_OWNER, values: [accountId, ownerId, ownerEmail] });
    await this.roles.assign(systemContext(system, accountId), ownerId, [OWNER_ROLE], []);
    await system.query({ text: INSERT_KEY, values: [accountId, keyId, ownerId, FIRST_KEY_NAME, hashOf(key)] });
    const deed = { accountId, area: 'identity', operation: 'identity.create_account' } as const;
    const account = { ...deed, action: 'account.create', target: ['account', accountId] as const };
    await system.query(this.ledger.systemRow({ ...account, detail: { slug, owner: ownerId } }));
    const firstKey = { ...deed, action: 'api_key.create', target: ['api_key', keyId] as const };
    await system.query(this.ledger.systemRow({ ...firstKey, detail: { name: FIRST_KEY_NAME, principal_id: ownerId } }));
    return { accountId, ownerId, key };
  }

  private newId(kind: 'account' | 'principal' | 'apiKey' | 'user'): string {
    return newId(kind, this.clock.nowMs());
  }
}

function assertSlug(slug: string): void {
  if (isSlug(slug)) return;
  throw invalid(['body', 'slug'], 'An account’s name has 3 to 63 small letters and digits, joined by single hyphens');
}

/** What the port needs of an operation's context. */
function systemContext(system: Transaction, accountId: string): Parameters<RoleAssigner['assign']>[0] {
  return {
    actor: { kind: 'system', id: 'system', accountId, credentialId: '', scopes: [], agentHandle: undefined },
    sql: (text, values = []) => system.query({ text, values }),
  };
}
