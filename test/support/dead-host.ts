import { execFileSync, spawn, type ChildProcess } from 'node:child_process';

const GUEST = `
  const [address, port, path, token] = process.argv.slice(1);
  const http = require('node:http');
  const headers = { authorization: 'Bearer ' + token, accept: 'text/event-stream' };
  http.get({ host: address, port, path, headers }, (response) => response.resume()).on('error', () => {});
  setTimeout(() => {}, 300_000);`;
let hosts = 0;

/**
 * A machine of its own as far as the network goes: a network namespace behind a link that can be taken down, so that nothing
 * answers any more, not even its kernel. Linux only, and only for who may make namespaces.
 */
export class DeadHost {
  readonly address: string;
  private readonly name: string;
  private guest: ChildProcess | undefined;

  private constructor(name: string, network: string) {
    this.name = name;
    this.address = `${network}.1`;
  }

  /** Undefined where this is not allowed. */
  static make(): DeadHost | undefined {
    const name = `sbx${process.pid}n${(hosts += 1)}`;
    const network = `10.214.${process.pid % 250}`;
    const [outer, inner] = [`${name}o`.slice(-15), `${name}i`.slice(-15)];
    try {
      ip('netns', 'add', name);
      ip('link', 'add', outer, 'type', 'veth', 'peer', 'name', inner, 'netns', name);
      ip('addr', 'add', `${network}.1/24`, 'dev', outer);
      ip('link', 'set', outer, 'up');
      ip('-n', name, 'addr', 'add', `${network}.2/24`, 'dev', inner);
      ip('-n', name, 'link', 'set', inner, 'up');
      return new DeadHost(name, network);
    } catch {
      remove(name);
      return undefined;
    }
  }

  /** Opens a channel from there, and reads it. */
  open(port: number, path: string, token: string): void {
    const args = ['netns', 'exec', this.name, process.execPath, '-e', GUEST, this.address, String(port), path, token];
    this.guest = spawn('ip', args, { stdio: 'ignore' });
  }

  /** The link goes down. */
  die(): void {
    ip('-n', this.name, 'link', 'set', `${this.name}i`.slice(-15), 'down');
  }

  remove(): void {
    this.guest?.kill('SIGKILL');
    remove(this.name);
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: 'ignore' });
}

function remove(name: string): void {
  try {
    ip('netns', 'del', name);
  } catch {
    // it was never there
  }
}
