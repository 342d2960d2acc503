import { z } from 'zod';
import type { FileAnswer } from '../http/file-answer.ts';
import type { LiveStream } from '../http/live-stream.ts';
import type { Redirect } from '../http/redirect.ts';
import type { LongList } from './long-list.ts';

/** 204: there is nothing to say. */
export const empty = { produces: 'nothing' } as const;
/** `text/event-stream`; the events are described in words. */
export const stream = (events: string): Stream => ({ produces: 'stream', events });
/** A JSON answer, or the same as it comes, as `text/event-stream`. */
export const jsonOrStream = <Schema extends z.ZodType>(schema: Schema, events: string): JsonOrStream<Schema> => ({
  produces: 'json or stream',
  schema,
  events,
});
/** A JSON list, complete however long it is: it is written item by item, and never held as objects. */
export const longList = <Item extends z.ZodType>(item: Item): LongListOutput<Item> => ({
  produces: 'long list',
  item,
  schema: z.array(item),
});
/** Bytes to be saved, whole or in part (`Range`). */
export const file = { produces: 'file' } as const;
/** Sends a browser on. */
export const redirect = { produces: 'redirect' } as const;
/** A page for people. */
export const html = { produces: 'html' } as const;

export interface Stream {
  readonly produces: 'stream';
  readonly events: string;
}
export interface JsonOrStream<Schema extends z.ZodType = z.ZodType> {
  readonly produces: 'json or stream';
  readonly schema: Schema;
  readonly events: string;
}

export interface LongListOutput<Item extends z.ZodType = z.ZodType> {
  readonly produces: 'long list';
  readonly item: Item;
  readonly schema: z.ZodArray<Item>;
}

export type Output =
  z.ZodType | typeof empty | typeof html | typeof file | typeof redirect | Stream | JsonOrStream | LongListOutput;

/** What a service returns for an output, at least. */
export type Returned<Declared extends Output> = Declared extends z.ZodType
  ? z.input<Declared>
  : Declared extends JsonOrStream<infer Schema>
    ? z.input<Schema> | LiveStream
    : Declared extends LongListOutput<infer Item>
      ? LongList<z.input<Item>>
      : Declared extends Stream
        ? LiveStream
        : Declared extends typeof html
          ? string
          : Declared extends typeof file
            ? FileAnswer
            : Declared extends typeof redirect
              ? Redirect
              : void;

export function isSchema(output: Output): output is z.ZodType {
  return !('produces' in output);
}

/** The schema of an output's JSON form, where it has one. */
export function schemaOf(output: Output): z.ZodType | undefined {
  if (isSchema(output)) return output;
  return 'schema' in output ? output.schema : undefined;
}
