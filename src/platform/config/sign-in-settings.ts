import { z } from 'zod';
import { hours, issuer, minutes } from './kinds.ts';
import { secret, setting, type Setting } from './setting.ts';

/** How people sign in by a browser, and for how long. */
export const SIGN_IN_SETTINGS = {
  oidcIssuer: setting(
    'SIGNALBOX_OIDC_ISSUER',
    issuer.optional(),
    undefined,
    'The OpenID provider that people sign in with, exactly as it names itself; absent: nobody signs in by a browser.',
  ),
  oidcClientId: setting(
    'SIGNALBOX_OIDC_CLIENT_ID',
    z.string().min(1).optional(),
    undefined,
    'What the provider calls this installation. Its callback is <public address>/auth/oidc/callback.',
  ),
  oidcClientSecret: secret(
    'SIGNALBOX_OIDC_CLIENT_SECRET',
    z.string().min(1).optional(),
    'The secret that goes with it; absent: a public client, which PKCE alone protects.',
  ),
  oidcScopes: setting(
    'SIGNALBOX_OIDC_SCOPES',
    z.string().regex(/^openid( \S+)*$/, 'must begin with openid'),
    'openid email profile',
    'What the provider is asked for: without the mail address nobody is recognised at their first sign-in.',
  ),
  sessionIdleMinutes: setting(
    'SIGNALBOX_SESSION_IDLE_MINUTES',
    minutes(0.001, 43_200),
    '60',
    'How long a browser’s session lives without being used; use renews it silently.',
  ),
  sessionHours: setting(
    'SIGNALBOX_SESSION_HOURS',
    hours(0.0001, 720),
    '12',
    'How long a browser’s session lives at most, however much it is used.',
  ),
  impersonationMinutes: setting(
    'SIGNALBOX_IMPERSONATION_MINUTES',
    minutes(0.001, 1_440),
    '60',
    'How long a system admin may act as somebody else, or look into an account; then they are themselves again.',
  ),
  devLogin: setting(
    'SIGNALBOX_DEV_LOGIN',
    z.enum(['off', 'on', 'anywhere']),
    'off',
    'on: a person’s API key can be exchanged for a browser’s session, for development on a loopback address; anywhere: on any address.',
  ),
} as const satisfies Record<string, Setting>;
