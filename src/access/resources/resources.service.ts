import { Inject, Injectable } from '@nestjs/common';
import { Database } from '../../platform/db/database.ts';
import { ResourceKinds, type ResourceKind } from '../../platform/operation/ports.ts';
import type { Thing } from '../decisions/scope.policy.ts';

interface Row {
  readonly id: string;
  readonly name: string | null;
  readonly labels: Readonly<Record<string, unknown>> | null;
  readonly parents: readonly (Omit<Row, 'parents'> & { readonly kind: string })[] | null;
}

/** Finds what a capability is asked about, for those who do not hold it for everything. */
@Injectable()
export class Resources extends ResourceKinds {
  private readonly texts = new Map<string, string>();

  constructor(@Inject(Database) private readonly database: Database) {
    super();
  }

  register(kind: ResourceKind, text: string): void {
    if (this.texts.has(kind)) throw new Error(`Two rooms find objects of the kind ${kind}`);
    this.texts.set(kind, text);
  }

  /** Undefined: there is none in this account, or nobody can find this kind. A foreign one takes the same way. */
  async find(accountId: string, kind: string, reference: string): Promise<Thing | undefined> {
    const text = this.texts.get(kind);
    if (text === undefined || !isStorable(reference)) return undefined;
    const [row] = await this.database.acrossAccounts<Row>({ text, values: [accountId, reference] });
    return (
      row && { kind, ...nodeOf(row), parents: (row.parents ?? []).map((one) => ({ kind: one.kind, ...nodeOf(one) })) }
    );
  }
}

function nodeOf({ id, name, labels }: Omit<Row, 'parents'>): Omit<Thing, 'kind' | 'parents'> {
  return { id, name: name ?? undefined, labels: labels ?? undefined };
}

/** PostgreSQL takes neither NUL nor half a character, and no object is called so. */
function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
