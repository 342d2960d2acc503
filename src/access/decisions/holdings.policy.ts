import { capabilitiesOf, isRole, nameOfRole, roleOfPolicy } from '../roles/roles.policy.ts';
import { confineOf, isWhole, type Confine } from './scope.policy.ts';

/** Where a statement comes from. */
export interface Origin {
  /** `role`: a role that the principal has; `grant`: a grant; `builtin`: what everybody of its kind has. */
  readonly source: 'role' | 'grant' | 'builtin';
  readonly grantId: string | undefined;
  readonly roleId: string | undefined;
  readonly policyId: string | undefined;
  /** The name of the role or policy; of a bare capability its own. */
  readonly via: string;
}

/** One reason to let somebody do something. */
export interface Statement {
  readonly origin: Origin;
  /** All must take the object in: a role acts inside its grant, and its policies narrow it further. */
  readonly confines: readonly Confine[];
  /** On the process's monotonic clock; infinity: never. */
  readonly endsAtMs: number;
}

/** What is held of one capability. */
export interface Holding {
  readonly all: readonly Statement[];
  /** By the first exact id in their confines. */
  readonly byId: ReadonlyMap<string, readonly Statement[]>;
  /** Those without an exact id. */
  readonly others: readonly Statement[];
}

/** Gives one capability, or all that a built-in role holds. */
type Source = Statement & { readonly gives: { readonly capability: string } | { readonly role: string } };

/** A role, a grant or a policy's statement, as the store reads them. `left_ms`: until it expires, on the database's clock. */
export interface HeldRow {
  readonly grant_id: string | null;
  readonly role_id: string | null;
  readonly role_name: string | null;
  readonly policy_ids: readonly string[] | null;
  readonly capability: string | null;
  readonly policy_id: string | null;
  readonly resource_type: string;
  readonly resource_id: string;
  readonly selector: unknown;
  readonly left_ms: number | null;
}
export interface PolicyRow {
  readonly id: string;
  readonly name: string;
  readonly statements: readonly {
    readonly capability: string;
    readonly resource_type: string;
    readonly resource_id: string;
    readonly selector?: unknown;
    readonly left_ms: number | null;
  }[];
}
export interface PrincipalRows {
  readonly kind: string | null;
  readonly is_disabled: boolean;
  readonly mode: 'off' | 'shadow' | 'enforce';
  readonly held: readonly HeldRow[];
  readonly policies: readonly PolicyRow[];
}

/** What an agent may do with nothing granted: see itself and its runs. */
const AGENTS_OWN: readonly string[] = ['agent.read', 'skill.read', 'run.read'];

/** What a principal holds, ready to be asked. A capability's statements are gathered when it is first asked for. */
export class Holdings {
  readonly accountId: string;
  readonly isDisabled: boolean;
  readonly mode: PrincipalRows['mode'];
  private readonly sources: readonly Source[];
  private readonly gathered = new Map<string, Holding>();

  /** `nowMs`: the monotonic clock before the rows were asked for, so that nothing is believed too long. */
  constructor(accountId: string, principalId: string, rows: PrincipalRows, nowMs: number) {
    this.accountId = accountId;
    this.isDisabled = rows.is_disabled;
    this.mode = rows.mode;
    const policies = new Map(rows.policies.map((policy) => [policy.id, policy]));
    const granted = rows.held.flatMap((row) => sourcesOf(row, policies, nowMs));
    this.sources = rows.kind === 'agent' ? [...granted, ...ownOf(principalId)] : granted;
  }

  of(capability: string): Holding {
    const known = this.gathered.get(capability);
    if (known) return known;
    const holding = holdingOf(this.sources.filter(({ gives }) => isGiven(gives, capability)));
    this.gathered.set(capability, holding);
    return holding;
  }

  /** Whether something is held, for anything at all. */
  holds(capability: string, nowMs: number): boolean {
    return !this.isDisabled && this.of(capability).all.some((statement) => statement.endsAtMs > nowMs);
  }

  /** What is held for every object of these kinds, whatever it is. */
  wholly(capability: string, kinds: readonly string[], nowMs: number): Statement | undefined {
    return this.of(capability).others.find(
      ({ confines, endsAtMs }) =>
        endsAtMs > nowMs && confines.every((confine) => isWhole(confine, this.accountId, kinds)),
    );
  }
}

function isGiven(gives: Source['gives'], capability: string): boolean {
  return 'role' in gives ? capabilitiesOf([gives.role]).has(capability) : gives.capability === capability;
}

function holdingOf(statements: readonly Statement[]): Holding {
  const byId = new Map<string, Statement[]>();
  const others: Statement[] = [];
  for (const statement of statements) {
    const id = statement.confines.find((confine) => confine.kind !== 'account' && confine.id !== '*')?.id;
    const group = id === undefined ? others : (byId.get(id) ?? []);
    group.push(statement);
    if (id !== undefined) byId.set(id, group);
  }
  return { all: statements, byId, others };
}

function endOf(leftMs: number | null, nowMs: number): number {
  return leftMs === null ? Number.POSITIVE_INFINITY : nowMs + leftMs;
}

function sourcesOf(row: HeldRow, policies: ReadonlyMap<string, PolicyRow>, nowMs: number): Source[] {
  const outer = confineOf(row.resource_type, row.resource_id, row.selector);
  if (!outer) return [];
  const source = row.grant_id === null ? 'role' : 'grant';
  const common = { source, grantId: row.grant_id ?? undefined, roleId: row.role_id ?? undefined } as const;
  const endsAtMs = endOf(row.left_ms, nowMs);
  const confines = [outer];
  if (row.capability !== null) {
    const origin = { ...common, policyId: row.policy_id ?? undefined, via: row.capability };
    return [{ origin, confines, endsAtMs, gives: { capability: row.capability } }];
  }
  if (row.role_id === null) return [];
  if (isRole(row.role_id)) {
    const via = nameOfRole(row.role_id);
    return [
      { origin: { ...common, policyId: `policy_${via}`, via }, confines, endsAtMs, gives: { role: row.role_id } },
    ];
  }
  const via = row.role_name ?? row.role_id;
  return (row.policy_ids ?? []).flatMap((policyId): Source[] => {
    const origin = { ...common, policyId, via };
    const builtIn = roleOfPolicy(policyId);
    if (builtIn) return [{ origin, confines, endsAtMs, gives: { role: builtIn } }];
    return (policies.get(policyId)?.statements ?? []).flatMap((said): Source[] => {
      const inner = confineOf(said.resource_type, said.resource_id, said.selector);
      if (!inner) return [];
      const ends = Math.min(endsAtMs, endOf(said.left_ms, nowMs));
      return [{ origin, confines: [outer, inner], endsAtMs: ends, gives: { capability: said.capability } }];
    });
  });
}

function ownOf(agentId: string): Source[] {
  const confines = [{ kind: 'agent', id: agentId, glob: undefined, labels: undefined }];
  const origin = {
    source: 'builtin',
    grantId: undefined,
    roleId: undefined,
    policyId: undefined,
    via: 'agent',
  } as const;
  const endsAtMs = Number.POSITIVE_INFINITY;
  return AGENTS_OWN.map((capability) => ({ origin, confines, endsAtMs, gives: { capability } }));
}
