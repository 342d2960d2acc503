import type { OpContext } from '../../platform/operation/operation.ts';
import type { JsonObject } from '../../platform/json/json.ts';
import type { Masked } from '../../vault/index.ts';
import type { Truncation } from '../artifacts/artifacts.policy.ts';

/** Where rows are read: an operation's transaction, or a short one of a stream's. */
export type Reading = Pick<OpContext, 'sql'>;

/** One row of a run's sequence. */
export interface LogRow {
  readonly seq: number;
  readonly at: Date;
  readonly attempt: number;
  readonly type: string;
  /** A move of the run itself; anything else is an event. */
  readonly is_status: boolean;
  readonly stream_seq: number | null;
  readonly event: JsonObject;
  readonly altered: readonly string[] | null;
  readonly truncated: readonly Truncation[] | null;
  /** How often something was masked, by field. */
  readonly masked?: Masked | null;
}

/** A run's place in the database. */
export interface RunPlace {
  readonly accountId: string;
  readonly runId: string;
  /** The day of its creation, as YYYY-MM-DD: where its partitions are. */
  readonly day: string;
}

export interface Page {
  readonly rows: readonly LogRow[];
  /** There is more, and it begins after the last row. */
  readonly isCut: boolean;
}

/** Events of a megabyte each are told in small pages: this bounds what one page takes, counted as PostgreSQL keeps it. */
const PAGE_BYTES = 2 * 1024 * 1024;

/**
 * What is looked for has no index, so a look goes over so many numbers and no further: a page takes the same time however
 * long the run is, and may be short or empty while there is more.
 */
export const NUMBERS_A_LOOK = 20_000;

const page = (condition: string): string => `
  SELECT seq::float8 AS seq, at, attempt, type, type = 'run.status' AS is_status, stream_seq, event, altered, truncated, masked, found::int AS found
    FROM (SELECT *, sum(pg_column_size(event)) OVER (ORDER BY seq) - pg_column_size(event) AS bytes_before, count(*) OVER () AS found
            FROM (SELECT * FROM run_log WHERE account_id = $1 AND run_id = $2 AND day = $3::date AND seq > $4 AND ${condition}
                   ORDER BY seq LIMIT $5) AS wanted) AS counted
   WHERE bytes_before <= ${PAGE_BYTES} ORDER BY seq`;
/** A live reader is told nothing beyond an event that waits: it would miss that one. */
const ALL = page(
  'seq < coalesce((SELECT held_seq FROM run_holds WHERE account_id = $1 AND id = $2), 9223372036854775807)',
);
const EVENTS = page(`type <> 'run.status' AND seq <= $4 + ${NUMBERS_A_LOOK}
  AND ($6::text[] IS NULL OR type = ANY ($6)) AND ($7::text IS NULL OR lower(event ->> 'level') = lower($7))
  AND ($8::text IS NULL OR event ->> 'span_id' = $8) AND ($9::text IS NULL OR strpos(lower(event::text), lower($9)) > 0)`);

export interface EventFilter {
  readonly types: readonly string[] | null;
  readonly level: string | null;
  readonly spanId: string | null;
  /** As it stands inside a JSON text. */
  readonly text: string | null;
}

const EVERYTHING: EventFilter = { types: null, level: null, spanId: null, text: null };

type Found = LogRow & { readonly found: number };

/** Moves and events after a number. */
export async function readLog(
  reading: Reading,
  { accountId, runId, day }: RunPlace,
  after: number,
  limit: number,
): Promise<Page> {
  return pageOf(await reading.sql<Found>(ALL, [accountId, runId, day, after, limit]), limit);
}

/** Events alone, of the next `NUMBERS_A_LOOK` numbers. */
export async function readEvents(
  reading: Reading,
  { accountId, runId, day }: RunPlace,
  { after, limit }: { readonly after: number; readonly limit: number },
  filter: Partial<EventFilter> = {},
): Promise<Page> {
  const { types, level, spanId, text } = { ...EVERYTHING, ...filter };
  return pageOf(
    await reading.sql<Found>(EVENTS, [accountId, runId, day, after, limit, types, level, spanId, text]),
    limit,
  );
}

function pageOf(rows: readonly Found[], limit: number): Page {
  const found = rows[0]?.found ?? 0;
  return { rows, isCut: rows.length === limit || rows.length < found };
}

const BY_IDENTITY = `
  SELECT seq::float8 AS seq, at, event FROM run_log WHERE account_id = $1 AND run_id = $2 AND day = $3::date AND identity = $4`;

/** An event that was there before. */
export async function eventByIdentity(
  reading: Reading,
  { accountId, runId, day }: RunPlace,
  identity: Buffer,
): Promise<Pick<LogRow, 'seq' | 'at' | 'event'> | undefined> {
  return (await reading.sql<Pick<LogRow, 'seq' | 'at' | 'event'>>(BY_IDENTITY, [accountId, runId, day, identity]))[0];
}
