import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG, type Config } from '../config/config.ts';
import { Database } from '../db/database.ts';
import type { Out } from '../operation/operation.ts';
import { openApiOf } from '../operation/openapi.ts';
import { OperationRegistry } from '../operation/registry.ts';
import { Replica } from '../replica/replica.ts';
import { VERSION } from '../version.ts';
import { docsPageOf } from './docs-page.ts';
import { NotReady, type healthz, type openApiDocument, type readyz } from './system.contract.ts';

const NEWEST_MIGRATION = `SELECT 1 AS one FROM credential_version`;

/** What supervisors, ingresses and readers of the reference ask of a replica. */
@Injectable()
export class SystemPages implements OnApplicationBootstrap {
  private document: Out<typeof openApiDocument> | undefined;

  constructor(
    @Inject(OperationRegistry) private readonly registry: OperationRegistry,
    @Inject(Database) private readonly database: Database,
    @Inject(Replica) private readonly replica: Replica,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** A name that means two things stops the boot, and not the first reader of the document. */
  async onApplicationBootstrap(): Promise<void> {
    await this.openApi();
  }

  async health(): Promise<Out<typeof healthz>> {
    return { status: 'ok' };
  }

  /** The migrations were applied before the process listened, so a database that answers has them. */
  async ready(): Promise<Out<typeof readyz>> {
    if (this.replica.isDraining) throw NotReady({ message: 'This replica is draining' });
    const answers = await this.database.acrossAccounts({ text: NEWEST_MIGRATION, values: [] }).then(
      () => true,
      () => false,
    );
    if (!answers) throw NotReady({ message: 'The database does not answer' });
    const auth = {
      ok: this.config.auth === 'on',
      detail: this.config.auth === 'on' ? null : 'SIGNALBOX_AUTH=off: every caller is the owner',
    };
    return {
      status: auth.ok ? 'ready' : 'degraded',
      checks: { database: { ok: true, detail: null }, migrations: { ok: true, detail: null }, auth },
    };
  }

  async openApi(): Promise<Out<typeof openApiDocument>> {
    this.document ??= {
      openapi: '3.1.0',
      ...openApiOf(
        this.registry.all().map(({ op }) => op),
        VERSION,
      ),
    };
    return this.document;
  }

  async docs(): Promise<string> {
    return docsPageOf(await this.openApi());
  }
}
