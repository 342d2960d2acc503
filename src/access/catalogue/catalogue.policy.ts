import type { Scope } from '../../platform/operation/operation.ts';
import { CAPABILITIES, KNOWN_CAPABILITIES } from '../capabilities/capabilities.policy.ts';

/** Each kind of object that an operation's scope can name: a kind without a line does not compile. */
const KINDS = {
  agent: 'An agent; its versions, its queue and what its workers are given belong to it',
  run: 'A run and everything on its record',
  worker: 'A worker process of an agent',
  api_key: 'An API key, by its id and never its secret',
  approval: 'What an agent asks somebody to allow',
  credential: 'A stored secret, by its id and never its value',
} as const satisfies Record<keyof Scope, string>;

export const CAPABILITY_CATALOGUE = KNOWN_CAPABILITIES.map((key) => {
  const { area, allows, sensitivity } = CAPABILITIES[key];
  return { key, domain: area, allows, sensitivity };
});

export const RESOURCE_TYPES = [
  { key: 'account', scope: 'account', notes: 'The account itself: what operations are about that name no object' },
  ...Object.entries(KINDS).map(([key, notes]) => ({ key, scope: 'resource', notes })),
];
