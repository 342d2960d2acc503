import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Form } from '../row.ts';
import { openPostgres, type BenchPostgres } from './postgres.ts';
import { startProduct, type Product, type StartOptions } from './product.ts';

/** What a row has to work with. */
export interface Stage {
  readonly form: Form;
  /** One PostgreSQL for both sides. */
  readonly postgres: BenchPostgres;
  /** Starts the server on the product's database, which stays from start to start. Stopped after the row at the latest. */
  startProduct(start?: StartOptions): Promise<Product>;
  /** Has something closed after the row, however it ends: last in, first out. */
  afterwards(close: () => Promise<void>): void;
  /** Says what is going on, while it is. */
  say(what: string): void;
}

/** A stage and what it needs to be set up and cleared away. */
interface StageOptions {
  readonly form: Form;
  /** The compiled server. */
  readonly entry: string;
  /** A PostgreSQL to use instead of an embedded one. */
  readonly databaseUrl: string | undefined;
  readonly say: (what: string) => void;
}

/** Everything a stage has started; `close` ends it in any state. */
export class BenchStage implements Stage {
  readonly form: Form;
  readonly postgres: BenchPostgres;
  readonly say: (what: string) => void;
  private readonly entry: string;
  private readonly directory: string;
  private readonly apiKey = `sbk_bench_${randomBytes(15).toString('hex')}`;
  private closers: (() => Promise<void>)[] = [];
  private closing: Promise<void> | undefined;

  private constructor(options: StageOptions, directory: string, postgres: BenchPostgres) {
    this.form = options.form;
    this.say = options.say;
    this.entry = options.entry;
    this.directory = directory;
    this.postgres = postgres;
  }

  /** Makes the directory and opens the database. */
  static async open(options: StageOptions): Promise<BenchStage> {
    const directory = mkdtempSync(path.join(os.tmpdir(), 'signalbox-bench-'));
    chmodSync(directory, 0o755); // root lends PostgreSQL another account, which has to pass through
    try {
      return new BenchStage(options, directory, await openPostgres(directory, options.databaseUrl));
    } catch (error) {
      rmSync(directory, { recursive: true, force: true });
      throw error;
    }
  }

  async startProduct(start: StartOptions = {}): Promise<Product> {
    if (!existsSync(this.entry)) throw new Error(`there is no ${this.entry}: run "npm run build" first`);
    const { databaseUrl = this.postgres.productUrl } = start;
    const dataDirectory = path.join(this.directory, 'data');
    const product = await startProduct({ entry: this.entry, databaseUrl, dataDirectory, apiKey: this.apiKey, start });
    this.afterwards(() => product.stop());
    return product;
  }

  afterwards(close: () => Promise<void>): void {
    this.closers.push(close);
  }

  /** Closes what a row has opened: everything, even if one of them fails. */
  async clear(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.closers.pop(); close !== undefined; close = this.closers.pop()) {
      await close().catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Leaves nothing behind. A signal may ask for it while it is under way. */
  close(): Promise<void> {
    this.closing ??= this.closeAll();
    return this.closing;
  }

  private async closeAll(): Promise<void> {
    try {
      await this.clear();
    } finally {
      await this.postgres.stop();
      rmSync(this.directory, { recursive: true, force: true });
    }
  }
}
