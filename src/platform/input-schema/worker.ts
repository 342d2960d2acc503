/**
 * The thread in which schemas that are not plain are compiled and inputs checked. It may be ended at any moment, so it
 * keeps nothing but what can be made again. It runs as TypeScript under the tests and as JavaScript from the build, and
 * so only uses syntax that Node can strip.
 */
import { parentPort } from 'node:worker_threads';
import type { InputProblem } from '../json/problems.ts';
import { compileInputSchema, type Compiled } from './compile.ts';
import { Recent } from './recent.ts';

/** Compile a schema; check an input against it, if there is one. Both are JSON texts: cheaper than structured clones. */
export interface ThreadRequest {
  readonly key: string;
  readonly schemaText: string;
  readonly inputText: string | undefined;
}

/** `ready` comes once. A request is answered by `compiled`, then, if there is an input, by `parsed` and `checked`. */
export type ThreadReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'compiled'; readonly error: string | null }
  | { readonly kind: 'parsed' }
  | { readonly kind: 'checked'; readonly problems: readonly InputProblem[] };

/** Characters of schemas together: compiled they take some 30 times as much memory. */
const KEPT_CHARACTERS = 2 * 1024 * 1024;

const compiled = new Recent<Compiled>(KEPT_CHARACTERS);

parentPort?.on('message', ({ key, schemaText, inputText }: ThreadRequest) => {
  const schema = compiled.get(key) ?? compileInputSchema(JSON.parse(schemaText) as object);
  compiled.set(key, schema, schemaText.length);
  if ('error' in schema) return reply({ kind: 'compiled', error: schema.error });
  reply({ kind: 'compiled', error: null });
  if (inputText === undefined) return;
  const input: unknown = JSON.parse(inputText);
  reply({ kind: 'parsed' });
  reply({ kind: 'checked', problems: schema.check(input) });
});
reply({ kind: 'ready' });

function reply(message: ThreadReply): void {
  parentPort?.postMessage(message);
}
