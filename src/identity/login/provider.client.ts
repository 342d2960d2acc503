import { Inject, Injectable } from '@nestjs/common';
import * as oidc from 'openid-client';
import { Clock } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import { SignInInvalid, SignInNotSetUp, SignInProviderAway, SignInProviderRefused } from './login.faults.ts';
import { vouchedIn, type SignInUnderWay, type Vouched } from './login.policy.ts';

const WITHIN_SECONDS = 5;
/** How far the provider's clock may be from ours. */
const SKEW_SECONDS = 60;
const DESCRIPTION_MS = 10 * 60_000;
/** What a silent sign-in is answered when it cannot be silent. */
const NEEDS_PERSON: ReadonlySet<string> = new Set([
  'login_required',
  'interaction_required',
  'consent_required',
  'account_selection_required',
]);

/** The provider would have to ask the person something. */
export class NeedsInteraction extends Error {}

/**
 * The OpenID provider. Its description is kept for ten minutes; its keys are fetched for each sign-in, so a key that it took
 * back signs nobody in, and a new one does at once.
 */
@Injectable()
export class Provider {
  private readonly log = new Log('identity');
  private described: { readonly server: oidc.ServerMetadata; readonly untilMs: number } | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  get isSetUp(): boolean {
    return this.config.oidcIssuer !== undefined;
  }

  /** Where the person goes to sign in. @throws Fault where the provider is away. */
  async entrance(under: SignInUnderWay, callback: string): Promise<string> {
    const configuration = await this.configuration();
    return oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: callback,
      scope: this.config.oidcScopes,
      state: under.state,
      nonce: under.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(under.verifier),
      code_challenge_method: 'S256',
      ...(under.isSilent ? { prompt: 'none' } : {}),
    }).href;
  }

  /**
   * Whom the provider's answer vouches for: state, issuer, code, signature, nonce and times are looked at.
   * @throws NeedsInteraction, or Fault for an answer that is none.
   */
  async vouch(under: SignInUnderWay, answered: URL): Promise<Vouched> {
    const configuration = await this.configuration();
    try {
      const tokens = await oidc.authorizationCodeGrant(configuration, answered, {
        pkceCodeVerifier: under.verifier,
        expectedState: under.state,
        expectedNonce: under.nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (!claims) throw SignInInvalid();
      const more = claims['email'] === undefined ? await moreAbout(configuration, tokens.access_token, claims.sub) : {};
      return vouchedIn({ ...more, ...claims });
    } catch (error) {
      throw this.faultOf(error);
    }
  }

  /** Where the person's sign-in at the provider ends; undefined where it offers no such place, or is away. */
  async exit(home: string): Promise<string | undefined> {
    if (!this.isSetUp) return undefined;
    try {
      const configuration = await this.configuration();
      if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
      return oidc.buildEndSessionUrl(configuration, { post_logout_redirect_uri: home }).href;
    } catch {
      return undefined; // its session ends without us; ours has ended
    }
  }

  private async configuration(): Promise<oidc.Configuration> {
    const { oidcIssuer, oidcClientId = '', oidcClientSecret } = this.config;
    if (oidcIssuer === undefined) throw SignInNotSetUp();
    const auth = oidcClientSecret === undefined ? oidc.None() : oidc.ClientSecretBasic(oidcClientSecret);
    const isLocal = oidcIssuer.startsWith('http:');
    const metadata = { [oidc.clockTolerance]: SKEW_SECONDS };
    if (!this.described || this.described.untilMs <= this.clock.monotonicMs()) {
      try {
        const found = await oidc.discovery(new URL(oidcIssuer), oidcClientId, metadata, auth, {
          timeout: WITHIN_SECONDS,
          ...(isLocal ? { execute: [oidc.allowInsecureRequests] } : {}),
        });
        this.described = { server: found.serverMetadata(), untilMs: this.clock.monotonicMs() + DESCRIPTION_MS };
      } catch (error) {
        this.log.warn('the identity provider does not describe itself', { error: describeError(error) });
        throw SignInProviderAway({ cause: error });
      }
    }
    const configuration = new oidc.Configuration({ ...this.described.server }, oidcClientId, metadata, auth);
    configuration.timeout = WITHIN_SECONDS;
    if (isLocal) oidc.allowInsecureRequests(configuration);
    oidc.enableNonRepudiationChecks(configuration); // the signature too, not only the connection
    return configuration;
  }

  private faultOf(error: unknown): Error {
    if (error instanceof oidc.AuthorizationResponseError)
      return NEEDS_PERSON.has(error.error)
        ? new NeedsInteraction(error.error)
        : SignInProviderRefused({ cause: error });
    this.log.warn('a sign-in failed', { error: describeError(error) });
    if (error instanceof oidc.ResponseBodyError) return SignInInvalid({ cause: error });
    return isAway(error) ? SignInProviderAway({ cause: error }) : SignInInvalid({ cause: error });
  }
}

async function moreAbout(configuration: oidc.Configuration, token: string, subject: string): Promise<object> {
  if (configuration.serverMetadata().userinfo_endpoint === undefined) return {};
  const { email, email_verified, name, picture } = await oidc.fetchUserInfo(configuration, token, subject);
  return { email, email_verified, name, picture };
}

const AWAY = /^(OAUTH_TIMEOUT|TimeoutError|AbortError|ECONN\w+|ENOTFOUND|EAI_AGAIN|UND_ERR_\w+|fetch failed)$/;

/** Nobody answered, or with a failure of their own. */
function isAway(error: unknown): boolean {
  for (let cause = error as Trouble | undefined; typeof cause === 'object' && cause !== null; cause = cause.cause) {
    if ([cause.code, cause.name, cause.message].some((word) => AWAY.test(String(word)))) return true;
    if (typeof cause.status === 'number' && cause.status >= 500) return true;
  }
  return false;
}

/** As far as a failure of a library says what it is. */
interface Trouble {
  readonly name?: string;
  readonly message?: string;
  readonly code?: string;
  readonly status?: number;
  readonly cause?: Trouble;
}
