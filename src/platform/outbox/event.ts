import type { z } from 'zod';
import type { OpContext } from '../operation/operation.ts';
import type { DeliveredFact } from './outbox.ts';

/** A kind of fact: its topic, and what is told. Rooms declare theirs in `*.events.ts`. */
export interface EventType<Schema extends z.ZodObject = z.ZodObject> {
  /** What subscribers subscribe to. */
  readonly topic: string;
  readonly schema: Schema;
  /** Tells it, if and only if the transaction around the caller commits. */
  publish(ctx: Pick<OpContext, 'publish'>, payload: z.input<Schema>): void;
  /** The payload of a delivered fact of this kind. */
  read(fact: DeliveredFact): z.output<Schema>;
}

const declared = new Map<string, EventType>();

/**
 * Declares a kind of fact. `topic` is `<noun>.<what became true>`, unique in the program.
 * @throws Error when two declarations share a topic.
 */
export function event<Schema extends z.ZodObject>(topic: string, schema: Schema): EventType<Schema> {
  if (declared.has(topic)) throw new Error(`Two kinds of fact are called ${topic}`);
  const type: EventType<Schema> = {
    topic,
    schema,
    publish: (ctx, payload) => ctx.publish(topic, schema.parse(payload)),
    read: ({ payload }) => schema.parse(payload),
  };
  declared.set(topic, type);
  return type;
}

/** Every declared kind of fact, by topic: for the generated reference. */
export function declaredEvents(): readonly EventType[] {
  return [...declared.values()].sort((a, b) => (a.topic < b.topic ? -1 : 1));
}
