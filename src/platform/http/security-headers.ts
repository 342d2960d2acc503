import helmet, { type FastifyHelmetOptions } from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config/config.ts';

/** For what is refused before any hook: an address that cannot be read. */
export const PLAIN_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
} as const;

const HSTS_SECONDS = 31_536_000;

/**
 * What every answer tells a browser: load nothing from elsewhere, be framed by nobody, guess no type, give no address away, keep
 * nothing. Pages of ours need nothing but themselves, so the policy is the same for all; whoever serves something that may be
 * kept (the public keys, a file) says so itself. Over plain HTTP nobody is told to insist on TLS.
 */
export async function secureAnswers(fastify: FastifyInstance, { publicUrl }: Config): Promise<void> {
  await fastify.register(helmet, optionsFor(publicUrl?.startsWith('https://') === true));
  fastify.addHook('onRequest', async (_request, reply) => void reply.header('cache-control', 'no-store'));
}

function optionsFor(isTls: boolean): FastifyHelmetOptions {
  return {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        styleSrc: ["'unsafe-inline'"], // the page of the reference has its few rules in itself
        baseUri: ["'none'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
      },
    },
    strictTransportSecurity: isTls ? { maxAge: HSTS_SECONDS } : false,
    xFrameOptions: { action: 'deny' },
    referrerPolicy: { policy: 'no-referrer' },
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
    originAgentCluster: false,
  };
}
