import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import pg from 'pg';
import { Clock } from '../clock/clock.ts';
import { DATABASE_URL, Database } from '../db/database.ts';
import { Log, describeError } from '../log/log.ts';
import { Replica } from '../replica/replica.ts';
import { POKE_CHANNEL, type PokeTopic } from './keys.ts';

type Listener = (id: string) => void;
type Poke = readonly [topic: PokeTopic, id: string];

/** PostgreSQL refuses a notification of 8,000 bytes; ids are short, so a batch stays far below. */
const BATCH_BYTES = 6_000;
const FLUSH_AFTER_MS = 2;
const RECONNECT_MS = [100, 300, 1_000, 2_000];

/**
 * Pokes between the parts of a replica and between replicas: "look again", with an id and nothing else. A poke may be
 * lost, doubled or late; whoever listens re-reads the rows, and a sweep looks anyway.
 *
 * Listeners of this process are called at once. Other replicas hear through LISTEN/NOTIFY, gathered for two
 * milliseconds into one statement; while this is the only replica nothing is sent at all.
 */
@Injectable()
export class Bus implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly log = new Log('bus');
  private readonly listeners = new Map<PokeTopic, Set<Listener>>();
  private readonly lost = new Set<() => void>();
  private outgoing: Poke[] = [];
  private flushing = false;
  private client: pg.Client | undefined;
  private readonly ended = new AbortController();

  constructor(
    @Inject(DATABASE_URL) private readonly databaseUrl: string,
    @Inject(Database) private readonly database: Database,
    @Inject(Replica) private readonly replica: Replica,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  on(topic: PokeTopic, listener: Listener): void {
    const listeners = this.listeners.get(topic) ?? new Set();
    this.listeners.set(topic, listeners.add(listener));
  }

  /** Calls `listener` when pokes may have been missed: everything is to be looked at again. */
  onGap(listener: () => void): void {
    this.lost.add(listener);
  }

  poke(topic: PokeTopic, id: string): void {
    this.deliver(topic, id);
    if (this.replica.isAlone) return;
    this.outgoing.push([topic, id]);
    if (this.flushing) return;
    this.flushing = true;
    setTimeout(() => void this.flush(), FLUSH_AFTER_MS).unref();
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.listen();
  }

  async onApplicationShutdown(): Promise<void> {
    this.ended.abort();
    await this.client?.end().catch(() => {});
  }

  private deliver(topic: PokeTopic, id: string): void {
    for (const listener of this.listeners.get(topic) ?? []) {
      try {
        listener(id);
      } catch (error) {
        this.log.warn('a listener failed', { topic, error: describeError(error) });
      }
    }
  }

  private async flush(): Promise<void> {
    const pokes = this.outgoing;
    this.outgoing = [];
    this.flushing = false;
    const payloads = inBatches(pokes).map((batch) => JSON.stringify([this.replica.id, batch]));
    const text = 'SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload';
    await this.database.acrossAccounts({ text, values: [POKE_CHANNEL, payloads] }).catch((error: unknown) => {
      this.log.warn('pokes were lost', { count: pokes.length, error: describeError(error) });
    });
  }

  private async listen(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.databaseUrl,
      options: '-c role=signalbox_system -c timezone=UTC',
      application_name: 'signalbox: bus',
      keepAlive: true,
      connectionTimeoutMillis: 5_000,
    });
    client.on('error', () => {}); // 'end' follows
    client.once('end', () => void this.relisten(client));
    client.on('notification', ({ payload }) => this.receive(payload ?? ''));
    try {
      await client.connect();
      await client.query(`LISTEN ${POKE_CHANNEL}`);
      this.ended.signal.throwIfAborted();
      this.client = client; // only now: one that is lost before this is tried again by the caller
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    }
  }

  private async relisten(old: pg.Client): Promise<void> {
    if (this.client !== old) return; // it never worked: its caller tries again
    for (let attempt = 0; !this.ended.signal.aborted; attempt += 1) {
      await this.clock.sleep(RECONNECT_MS[Math.min(attempt, RECONNECT_MS.length - 1)] ?? 0, this.ended.signal);
      if (this.ended.signal.aborted) return;
      const listening = await this.listen().then(
        () => true,
        () => false,
      );
      if (!listening) continue;
      this.log.info('listening again');
      for (const listener of this.lost) listener();
      return;
    }
  }

  private receive(payload: string): void {
    const [from, pokes] = JSON.parse(payload) as [string, Poke[]];
    if (from === this.replica.id) return;
    for (const [topic, id] of pokes) this.deliver(topic, id);
  }
}

/** Cuts pokes into batches that fit a notification, each poke once. */
function inBatches(pokes: readonly Poke[]): Poke[][] {
  const batches: Poke[][] = [];
  let size = BATCH_BYTES;
  const seen = new Set<string>();
  for (const poke of pokes) {
    const text = JSON.stringify(poke);
    if (seen.has(text)) continue;
    seen.add(text);
    const bytes = Buffer.byteLength(text) + 1;
    if (size + bytes > BATCH_BYTES) {
      batches.push([]);
      size = 0;
    }
    batches.at(-1)?.push(poke);
    size += bytes;
  }
  return batches;
}
