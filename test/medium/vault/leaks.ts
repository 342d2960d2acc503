import type { RunningApp } from '../../support/app.ts';

const REDACTED = '***REDACTED***';

/** How an agent may write a value into what it says. */
export const WRITERS: Readonly<Record<string, (value: string) => string>> = {
  plain: (value) => value,
  base64: (value) => Buffer.from(value).toString('base64'),
  'base64 in the middle': (value) => Buffer.from(`user:${value}!`).toString('base64'),
  'a URL component': (value) => encodeURIComponent(value),
  'a form': (value) => new URLSearchParams({ q: value }).toString(),
  JSON: (value) => JSON.stringify({ value }),
  'JSON in JSON': (value) => JSON.stringify(JSON.stringify([value])),
};

/** What of a value must be found nowhere. */
export function forms(value: string): string[] {
  return Object.values(WRITERS).map((write) => write(value));
}

/** Every row of every table of ours, as text. */
export async function dump(app: RunningApp): Promise<string> {
  const tables = await app.database.query<{ name: string }>(
    `SELECT format('%I', table_name) AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
    [],
  );
  let text = '';
  for (const { name } of tables) {
    const rows = await app.database.query<{ row: string }>(`SELECT to_json(t)::text AS row FROM ${name} AS t`, []);
    text += `${rows.map(({ row }) => `${name} ${row}`).join('\n')}\n`;
  }
  return text;
}

/** The forms of these values that a text holds, with what stands before them. */
export function leaksIn(text: string, values: readonly string[]): string[] {
  const wanted = new Set(values.flatMap(forms).flatMap((form) => [form, JSON.stringify(form).slice(1, -1)]));
  return [...wanted].flatMap((form) => {
    const at = text.indexOf(form);
    return at === -1 ? [] : [text.slice(Math.max(0, at - 200), at + form.length)];
  });
}

export function countOfMarks(text: string): number {
  return text.split(REDACTED).length - 1;
}

/** What a run's stream tells until it is over. */
export async function wholeStream(app: RunningApp, key: string, runId: string, follow = true): Promise<string> {
  const answer = await fetch(`${app.url}/api/v1/runs/${runId}/stream?follow=${follow}`, {
    headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream' },
    signal: AbortSignal.timeout(30_000),
  });
  return answer.text();
}
