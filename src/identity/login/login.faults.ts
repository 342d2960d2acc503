import { fault } from '../../platform/faults/faults.ts';

export const ExchangeNotAPerson = fault('auth.not_a_person', 'bad_state', 'Only a person’s API key becomes a session');

// What a sign-in fails with: shown to the person as a page.
export const SignInNotSetUp = fault(
  'auth.sign_in_not_set_up',
  'unavailable',
  'Signing in by a browser is not set up here',
);
export const SignInState = fault(
  'auth.sign_in_state',
  'refused',
  'This sign-in was not begun in this browser, took too long, or was used already',
);
export const SignInProviderAway = fault(
  'auth.provider_unavailable',
  'unavailable',
  'The identity provider cannot be reached at the moment',
);
export const SignInProviderRefused = fault(
  'auth.provider_refused',
  'refused',
  'The identity provider refused the sign-in',
);
export const SignInInvalid = fault(
  'auth.sign_in_invalid',
  'refused',
  'What the identity provider answered cannot be trusted',
);
export const SignInEmail = fault(
  'auth.email_unverified',
  'refused',
  'The identity provider vouches for no mail address of this person',
);
export const SignInTaken = fault(
  'auth.bound_elsewhere',
  'refused',
  'This mail address signs in as somebody else already',
);

/** Those that the page explains. */
export const SIGN_IN_FAULTS = [
  SignInNotSetUp,
  SignInState,
  SignInProviderAway,
  SignInProviderRefused,
  SignInInvalid,
  SignInEmail,
  SignInTaken,
] as const;
