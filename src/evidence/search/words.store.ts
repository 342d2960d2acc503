/** So much of a text is read for words: a tsvector holds a megabyte, and a character is up to four bytes. */
const READ_LENGTH = 100_000;
const KIND_LENGTH = 100;

/** The texts and numbers in a json value, in SQL; names of members are none. */
export function textsIn(value: string): string {
  return `(SELECT string_agg(text #>> '{}', ' ') FROM jsonb_path_query((${value})::jsonb,
    'strict $.** ? (@.type() == "string" || @.type() == "number")') AS text)`;
}

/** What an event says, in SQL. */
export function saidBy(event: string): string {
  return `left(concat_ws(' ', ${event} ->> 'name', ${event} ->> 'content', ${textsIn(`${event} -> 'payload'`)}), ${READ_LENGTH})`;
}

/** What a run says at its ends: rows of kind, number, time and text. `run` is of `run_content`. */
export const ENDS = `(VALUES
  ('input', 1::bigint, run.created_at, left(${textsIn('run.input')}, ${READ_LENGTH})),
  ('output', run.last_seq, run.finished_at, left(${textsIn('run.output')}, ${READ_LENGTH})),
  ('error', run.last_seq, run.finished_at, left(run.error, ${READ_LENGTH}))) AS said (kind, seq, at, text)`;

export function wordsOf(text: string): string {
  return `to_tsvector('simple', ${text})`;
}

export function kindOf(type: string): string {
  return `left(${type}, ${KIND_LENGTH})`;
}

/** The account as a word that no text holds, in SQL: what is looked for is looked for among its words only. */
export function accountWord(account: string): string {
  return `array_to_tsvector(ARRAY['@' || ${account}])`;
}
