import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../../src/platform/embedded-postgres/launcher.ts';
import { DatabaseProxy } from '../database-proxy.ts';

const NAME = 'faults';

/** A PostgreSQL of one scenario's own, which can be stopped, frozen and cut off, at one address all the while. */
export class OwnPostgres {
  /** Leads through the proxy, to wherever the server is now. */
  readonly url: string;
  readonly proxy: DatabaseProxy;
  private readonly stateDir: string;
  private server: EmbeddedPostgres;

  private constructor(stateDir: string, server: EmbeddedPostgres, way: { proxy: DatabaseProxy; url: string }) {
    this.stateDir = stateDir;
    this.server = server;
    this.proxy = way.proxy;
    this.url = way.url;
  }

  static async start(): Promise<OwnPostgres> {
    const stateDir = fs.mkdtempSync(path.join(os.tmpdir(), 'signalbox-faults-'));
    fs.chmodSync(stateDir, 0o755); // mkdtemp makes 0700, which the account that root lends cannot enter
    const server = await startEmbeddedPostgres({ stateDir, durability: 'disposable' });
    const client = new pg.Client({ connectionString: server.url('postgres') });
    await client.connect();
    await client.query(`CREATE DATABASE ${NAME}`);
    await client.end();
    return new OwnPostgres(stateDir, server, await DatabaseProxy.before(server.url(NAME)));
  }

  /** Ends it as an operator does; connections break, and new ones are refused. */
  async stop(): Promise<void> {
    await this.server.stop();
  }

  async startAgain(): Promise<void> {
    this.server = await startEmbeddedPostgres({ stateDir: this.stateDir, durability: 'disposable' });
    this.proxy.lead(this.server.url(NAME));
  }

  /** All its processes stand still: whoever asks gets no answer, and no error either. */
  freeze(): void {
    this.signal('SIGSTOP');
  }

  thaw(): void {
    this.signal('SIGCONT');
  }

  async remove(): Promise<void> {
    this.thaw();
    await this.proxy.close();
    await this.server.stop();
    fs.rmSync(this.stateDir, { recursive: true, force: true });
  }

  private signal(signal: NodeJS.Signals): void {
    const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
    const pairs = table.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
    const children = pairs.filter(([, parent]) => parent === this.server.pid).map(([pid]) => pid ?? 0);
    for (const pid of [this.server.pid, ...children]) {
      try {
        process.kill(pid, signal);
      } catch {
        continue; // it has ended meanwhile
      }
    }
  }
}
