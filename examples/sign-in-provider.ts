/**
 * An identity provider for development and tests: OpenID Connect with the library `oidc-provider`, on a loopback address.
 * Whoever types a mail address is believed. Nobody but you should reach it.
 */

import { generateKeyPairSync, randomBytes, type JsonWebKey } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';

export interface SignInProvider {
  /** What the control plane needs as SIGNALBOX_OIDC_ISSUER. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Serves the control plane at `base`, with new keys each time it is called. */
  serve(base: string, around?: Around): void;
  stop(): Promise<void>;
}

/** Looks at each answer before it goes: for tests, which have the provider say what is wrong. */
export type Around = (ctx: { readonly path: string; body: unknown }) => void;

const SCOPES = 'openid email profile';

/** Listens on `port` (0: a free one); answers 503 until `serve` is called. */
export async function startSignInProvider(port = 0): Promise<SignInProvider> {
  const clientId = 'signalbox';
  const clientSecret = randomBytes(24).toString('base64url');
  let answer: http.RequestListener = (_request, response) => void response.writeHead(503).end();
  const server = http.createServer((request, response) => answer(request, response));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    clientId,
    clientSecret,
    serve: (base, around) => {
      const provider = providerFor(issuer, { clientId, clientSecret, base });
      if (around)
        provider.use(async (ctx, next) => {
          await next();
          around(ctx);
        });
      const answering = provider.callback();
      answer = (request, response) => void answering(request, response);
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly base: string;
}

function providerFor(issuer: string, { clientId, clientSecret, base }: Client): Provider {
  return new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [`${base}/auth/oidc/callback`],
        post_logout_redirect_uris: [`${base}/`],
      },
    ],
    jwks: { keys: [newKey()] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    scopes: SCOPES.split(' '),
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
    pkce: { required: () => true },
    // The name that was typed: a mail address, and whether it is a verified one.
    findAccount: (_ctx, name) => ({
      accountId: name,
      claims: () => ({
        sub: name,
        email: name.includes('@') ? name : `${name}@localhost`,
        email_verified: !name.startsWith('unverified'),
        name: name.split('@')[0] ?? name,
      }),
    }),
    // Nobody is asked whether Signalbox may know them: it is for their own sign-in.
    loadExistingGrant: async (ctx) => {
      const grant = new ctx.oidc.provider.Grant({
        clientId: ctx.oidc.client?.clientId ?? '',
        accountId: ctx.oidc.session?.accountId ?? '',
      });
      grant.addOIDCScope(SCOPES);
      await grant.save();
      return grant;
    },
  });
}

function newKey(): JsonWebKey & { readonly kid: string } {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  return {
    ...privateKey.export({ format: 'jwk' }),
    kid: randomBytes(6).toString('hex'),
    use: 'sig',
    alg: 'RS256',
  };
}
