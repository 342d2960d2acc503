import { randomBytes } from 'node:crypto';
import type { Type } from '@nestjs/common';
import { createApp } from '../../src/app.ts';
import { Accounts } from '../../src/identity/index.ts';
import { readConfig, type Config } from '../../src/platform/config/config.ts';
import { KeyRing } from '../../src/platform/crypto/key-ring.ts';
import { setLogLevel } from '../../src/platform/log/log.ts';
import { createSuiteDatabase, type SuiteDatabase } from './suite-database.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type RunningApp = Awaited<ReturnType<typeof startApp>>;

export interface CallOptions {
  readonly key?: string;
  /** An object is sent as JSON; a text or bytes as they are, as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface AppOptions {
  /** Environment variables over the defaults. */
  readonly env?: Readonly<Record<string, string>>;
  /** A second replica on the same database. */
  readonly database?: SuiteDatabase;
  /** Puts something between the application and its database. */
  readonly via?: (url: string) => Promise<string>;
  /** Where it listens; the loopback address unless said. */
  readonly host?: string;
  /** Its own keys; otherwise those that all replicas of a run share. */
  readonly keyRing?: KeyRing;
  /** Operations of a shape that the product has none of. */
  readonly controllers?: readonly Type[];
}

/** One key ring for all replicas of a run, as an installation has. */
const KEYS = JSON.stringify({ active: 'test', keys: { test: randomBytes(32).toString('base64') } });
let accounts = 0;

/** The whole application on a database of its own, listening on a free port. */
export async function startApp(options: AppOptions = {}) {
  setLogLevel('error'); // what goes wrong here goes wrong on purpose
  const database = options.database ?? (await createSuiteDatabase());
  const config: Config = readConfig({ SIGNALBOX_LOG_LEVEL: 'error', ...options.env });
  const databaseUrl = options.via ? await options.via(database.url) : database.url;
  const keyRing = options.keyRing ?? KeyRing.parse(KEYS, 'test');
  const app = await createApp({ config, databaseUrl, keyRing }, options.controllers);
  await app.nest.listen(0, options.host ?? '127.0.0.1');
  const url = await app.nest.getUrl();
  return {
    nest: app.nest,
    config,
    database,
    url,
    /** A new account with an owner and the owner's key. */
    account: async (slug = `account-${process.pid}-${(accounts += 1)}`) => {
      const { accountId, ownerId, key } = await app.nest
        .get(Accounts)
        .create({ slug, ownerEmail: `owner@${slug}.test` });
      return { accountId, ownerId, key, slug };
    },
    call: (method: Method, path: string, callOptions: CallOptions = {}) => call(url, method, path, callOptions),
    stop: async () => {
      await app.close();
      if (!options.database) await database.drop();
    },
  };
}

/** One request over the network, its answer read as JSON where it is JSON. */
export async function call(base: string, method: Method, path: string, { key, body, headers }: CallOptions = {}) {
  const hasBody = body !== undefined;
  const raw = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(base + path, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(hasBody ? { 'content-type': 'application/json' } : {}),
      ...headers,
    },
    ...(hasBody ? { body: raw ? (body as string) : JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== '' ? JSON.parse(text) : undefined,
  };
}

/** Whatever came back; tests look into it with expectations. */
export type Json = ReturnType<typeof JSON.parse>;
