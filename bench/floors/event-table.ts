/** The columns of the floor's event table, in the order in which `columnsOf` has them. */
const COLUMNS = 'run_id, event_id, event_sequence, ts, type, content, payload';
const TYPES = ['text', 'text', 'int', 'timestamptz', 'text', 'text', 'jsonb'];

export const EVENT_TABLE = `
  DROP TABLE IF EXISTS event;
  CREATE TABLE event (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run_id text NOT NULL, event_id text NOT NULL, event_sequence int NOT NULL,
    ts timestamptz NOT NULL, type text NOT NULL, content text, payload jsonb NOT NULL,
    UNIQUE (run_id, event_id, event_sequence));
  CREATE INDEX ON event (run_id, id)`;

/** A batch in one statement; what is there already stays. */
export const INSERT_EVENTS = `
  INSERT INTO event (${COLUMNS}) SELECT * FROM unnest(${TYPES.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})
  ON CONFLICT (run_id, event_id, event_sequence) DO NOTHING`;
export const COPY_EVENTS = `COPY event (${COLUMNS}) FROM STDIN`;

/** An event as workers send it, as far as the floor reads it. */
export interface FloorEvent {
  readonly event_id: string;
  readonly event_sequence: number;
  readonly timestamp: string;
  readonly event_type: string;
  readonly content?: string;
  readonly payload?: object;
}

/** The cells of one event. */
export function cellsOf(runId: string, event: FloorEvent): readonly (string | number | null)[] {
  const { event_id: id, event_sequence: sequence, timestamp, event_type: type, content, payload = {} } = event;
  return [runId, id, sequence, timestamp, type, content ?? null, JSON.stringify(payload)];
}

/** The same, a column at a time. */
export function columnsOf(rows: readonly (readonly unknown[])[]): readonly (readonly unknown[])[] {
  return TYPES.map((_, column) => rows.map((row) => row[column]));
}
