import dns from 'node:dns/promises';
import http from 'node:http';
import net from 'node:net';
import tls from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../config/config.ts';
import { VERSION } from '../version.ts';
import { judgeAddresses, judgeUrl, openedBy, type Opened, type Target } from './address.policy.ts';

const CONNECT_MS = 10_000;
/** The longest wait that timers know. */
const LONGEST_MS = 2 ** 31 - 1;
const HEAD_BYTES = 16 * 1024;
const FIRST_PAUSE_MS = 200;
/** Answers after which a call that may be repeated is made again: nobody took it up. */
const NOT_NOW: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** One call. Redirects are not followed: what is answered is the answer. */
export interface OutboundCall {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** From the asking for its address to the last byte of the answer, every try and pause included. */
  readonly withinMs: number;
  /** The largest answer that is read. */
  readonly mostBytes: number;
  /** How often it is tried at most. More than once only what may arrive twice. */
  readonly tries?: number;
  readonly signal?: AbortSignal;
  /** Asked when the connection stands and nothing has been sent; false hangs up. */
  readonly maySend?: () => Promise<boolean>;
}

export interface OutboundAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

/**
 * How far a call that failed had come: `excluded`, it may not be made; `unsent`, nothing of it was sent; `withdrawn`, the caller
 * would not send it; `lost`, it may have arrived, and its answer did not.
 */
export type FailedAt = 'excluded' | 'unsent' | 'withdrawn' | 'lost';

/** Its message is for operators: it names hosts and addresses, and nothing that was sent. */
export class OutboundFailure extends Error {
  constructor(
    readonly at: FailedAt,
    message: string,
  ) {
    super(message);
  }
}

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

/** Names as this machine knows them, its hosts file included. */
export const systemResolve: Resolve = (host) => dns.lookup(host, { all: true, verbatim: true });

/**
 * The one way out: every call to an address that somebody gave us. Its name is asked for once, all of its addresses must pass
 * (`address.policy.ts`), and the connection goes to what was checked, whatever the name means a moment later.
 */
@Injectable()
export class Outbound {
  private readonly opened: Opened;

  constructor(
    @Inject(CONFIG) { outboundAllow }: Pick<Config, 'outboundAllow'>,
    private readonly resolve: Resolve,
  ) {
    this.opened = openedBy(outboundAllow);
  }

  /** Why a URL is never called, in words, as far as can be said without asking for the addresses of its name. */
  exclusionOf(url: string): string | undefined {
    const judged = judgeUrl(url, this.opened);
    return 'excluded' in judged ? judged.excluded : undefined;
  }

  /** @throws OutboundFailure, and nothing else. */
  async call(call: OutboundCall): Promise<OutboundAnswer> {
    const limit = AbortSignal.timeout(Math.min(call.withinMs, LONGEST_MS));
    const signal = call.signal ? AbortSignal.any([limit, call.signal]) : limit;
    for (let tried = 1; ; tried += 1) {
      const isLast = tried >= (call.tries ?? 1);
      try {
        const answer = await this.callOnce(call, signal);
        if (isLast || !NOT_NOW.has(answer.status)) return answer;
      } catch (error) {
        const failure = asFailure(error, 'unsent');
        if (isLast || signal.aborted || failure.at === 'excluded' || failure.at === 'withdrawn') throw failure;
      }
      await sleep(pauseMs(tried), undefined, { signal }).catch(() => undefined);
    }
  }

  private async callOnce(call: OutboundCall, signal: AbortSignal): Promise<OutboundAnswer> {
    const judged = judgeUrl(call.url, this.opened);
    if ('excluded' in judged) throw new OutboundFailure('excluded', judged.excluded);
    const { target } = judged;
    const addresses = await this.checkedAddresses(target, signal);
    const socket = await connect(target, addresses, signal);
    try {
      if (call.maySend && !(await call.maySend()))
        throw new OutboundFailure('withdrawn', 'it was not to be sent any more');
      signal.throwIfAborted();
      if (socket.destroyed) throw new Error('it hung up before anything was sent');
    } catch (error) {
      socket.destroy();
      throw error;
    }
    try {
      return await exchange(call, target, socket, signal);
    } catch (error) {
      throw asFailure(error, 'lost');
    } finally {
      socket.destroy();
    }
  }

  private async checkedAddresses(target: Target, signal: AbortSignal): Promise<Awaited<ReturnType<Resolve>>> {
    const family = net.isIP(target.host);
    if (family !== 0) return [{ address: target.host, family }]; // was judged with its URL
    const found = await untilAborted(this.resolve(target.host), signal);
    const excluded =
      found.length === 0
        ? 'its name has no address'
        : judgeAddresses(
            target,
            found.map(({ address }) => address),
            this.opened,
          );
    if (excluded !== undefined) throw new OutboundFailure('excluded', excluded);
    return found;
  }
}

/** Longer each time, and never the same for all who wait. */
function pauseMs(tried: number): number {
  return FIRST_PAUSE_MS * 2 ** (tried - 1) * (0.5 + Math.random());
}

/** A connection to one of these addresses, with TLS where the URL says so: the certificate must be the name's. */
async function connect(
  { url, host }: Target,
  addresses: Awaited<ReturnType<Resolve>>,
  signal: AbortSignal,
): Promise<net.Socket> {
  const isTls = url.protocol === 'https:';
  const options = {
    host,
    port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
    autoSelectFamily: true,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    lookup: ((_host, _options, done) => done(null, [...addresses])) satisfies net.LookupFunction,
  };
  const servername = net.isIP(host) === 0 ? { servername: host } : {};
  const socket = isTls ? tls.connect({ ...options, ...servername, ALPNProtocols: ['http/1.1'] }) : net.connect(options);
  const { promise, resolve, reject } = Promise.withResolvers<net.Socket>();
  const timer = setTimeout(() => reject(new Error(`no connection within ${CONNECT_MS / 1_000} s`)), CONNECT_MS);
  socket.once(isTls ? 'secureConnect' : 'connect', () => resolve(socket));
  socket.on('error', reject); // stays: whoever reads it later hears of the end
  socket.once('close', () => reject(new Error('it hung up')));
  try {
    return await untilAborted(promise, signal);
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Sends the request and reads its answer, up to the limit. */
async function exchange(
  { method, headers, body, mostBytes }: OutboundCall,
  { url }: Target,
  socket: net.Socket,
  signal: AbortSignal,
): Promise<OutboundAnswer> {
  const request = http.request({
    createConnection: () => socket,
    method,
    path: `${url.pathname}${url.search}`,
    setHost: false,
    maxHeaderSize: HEAD_BYTES,
    headers: {
      host: url.host,
      'user-agent': `signalbox/${VERSION}`,
      'accept-encoding': 'identity',
      connection: 'close',
      ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
      ...headers,
    },
    signal,
  });
  const { promise, resolve, reject } = Promise.withResolvers<OutboundAnswer>();
  request.on('error', reject);
  request.once('close', () => reject(new Error('it hung up')));
  request.once('upgrade', () => reject(new Error('it speaks another protocol')));
  request.once('response', (response) => {
    const chunks: Buffer[] = [];
    let size = 0;
    response.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= mostBytes) chunks.push(chunk);
      else reject(new Error(`its answer is larger than ${mostBytes} bytes`));
    });
    response.on('error', reject);
    response.once('end', () => {
      if (!response.complete) return reject(new Error('it hung up in the middle of its answer'));
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks, size) });
    });
  });
  request.end(body);
  try {
    return await promise;
  } finally {
    request.destroy();
  }
}

async function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function asFailure(error: unknown, at: FailedAt): OutboundFailure {
  if (error instanceof OutboundFailure) return error;
  return new OutboundFailure(at, sentenceOf(error));
}

function sentenceOf(error: unknown): string {
  const { name, code, message, cause } = error as Error & { readonly code?: string };
  if (name === 'TimeoutError' || (cause as Error | undefined)?.name === 'TimeoutError') return 'its time was over';
  if (code === 'ECONNREFUSED') return 'the connection was refused';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'its name was not found';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'its certificate is for another name';
  return code ?? message; // the message of whoever gives a code may quote the peer
}
