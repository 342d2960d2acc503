import { z } from 'zod';
import { RouteNotFound } from '../../platform/faults/faults.ts';
import { anyone, operation, self, unaudited } from '../../platform/operation/operation.ts';
import { html, redirect } from '../../platform/operation/output.ts';
import { AccessEscalation } from '../credentials/credentials.faults.ts';
import { ExchangeNotAPerson } from './login.faults.ts';

const nobodyYet = anyone('whoever signs in has no credential yet');
const next = z.string().default('/');
const word = z.string().max(4_000).nullish();

export const startSignIn = operation({
  id: 'identity.start_sign_in',
  summary: 'Signs a browser in, silently where the identity provider still knows the person.',
  http: { method: 'GET', path: '/auth/start', status: 302 },
  transaction: 'none',
  capability: nobodyYet,
  input: { query: z.object({ next }) },
  output: redirect,
  faults: [],
});

export const oidcLogin = operation({
  id: 'identity.oidc_login',
  summary: 'Sends a browser to the identity provider.',
  http: { method: 'GET', path: '/auth/oidc/login', status: 302 },
  transaction: 'none',
  capability: nobodyYet,
  input: {
    query: z.object({
      next,
      silent: z.preprocess(
        (text) => (text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : text),
        z.boolean().default(false),
      ),
    }),
  },
  output: redirect,
  faults: [],
});

export const oidcCallback = operation({
  id: 'identity.oidc_callback',
  summary: 'Takes what the identity provider answered, and begins a session.',
  http: { method: 'GET', path: '/auth/oidc/callback', status: 302 },
  transaction: 'none',
  capability: nobodyYet,
  input: { query: z.object({ code: word, state: word, error: word, error_description: word }) },
  output: redirect,
  faults: [],
});

export const signInProblem = operation({
  id: 'identity.sign_in_problem',
  summary: 'Explains why somebody could not be signed in.',
  http: { method: 'GET', path: '/auth/problem', status: 200 },
  transaction: 'none',
  capability: nobodyYet,
  ours: true,
  input: { query: z.object({ code: z.string().max(100).nullish() }) },
  output: html,
  faults: [],
});

export const logoutByLink = operation({
  id: 'identity.logout_by_link',
  summary: 'Ends the session of a browser, and sends it to the identity provider to end that one, too.',
  http: { method: 'GET', path: '/auth/logout', status: 302 },
  transaction: 'none',
  capability: nobodyYet,
  input: {},
  output: redirect,
  faults: [],
});

export const logout = operation({
  id: 'identity.logout',
  summary: 'As the link, for a page that posts.',
  http: { method: 'POST', path: '/auth/logout', status: 302 },
  transaction: 'none',
  capability: nobodyYet,
  audit: unaudited('the end of a session leaves a row where there was one'),
  input: {},
  output: redirect,
  faults: [],
});

export const exchangeKey = operation({
  id: 'identity.exchange_key',
  summary: 'Turns a person’s API key into a browser’s session, where that is switched on.',
  http: { method: 'POST', path: '/auth/session/exchange', status: 200 },
  capability: self,
  operatorsOnly: true,
  acrossAccounts: 'sessions belong to people, and no account sees them',
  audit: { action: 'session.begin', target: () => ['session', ''] },
  input: {},
  output: z.object({ expires_in: z.int() }),
  faults: [RouteNotFound, ExchangeNotAPerson, AccessEscalation],
});

export const devLogin = operation({
  id: 'identity.dev_login',
  summary: 'Sends a browser to the page that exchanges an API key for a session, where that is switched on.',
  http: { method: 'GET', path: '/auth/dev/login', status: 302 },
  transaction: 'none',
  capability: nobodyYet,
  input: {},
  output: redirect,
  faults: [RouteNotFound],
});

export const devLoginPage = operation({
  id: 'identity.dev_login_page',
  summary: 'A page that exchanges an API key for a session, where that is switched on.',
  http: { method: 'GET', path: '/auth/dev/key', status: 200 },
  transaction: 'none',
  capability: nobodyYet,
  ours: true,
  input: {},
  output: html,
  faults: [RouteNotFound],
});
