import * as oauth from 'oauth4webapi';
import type { ConsoleConfig } from '../../../src/application/contract/overview.ts';
import { t } from '../../language/language.ts';
import type { SignedOut, SignIn } from '../session.ts';

type OidcConfig = Extract<ConsoleConfig, { sign_in: 'oidc' }>;

/** They live in memory only: a reload, a new tab or the tab's end forgets them. */
interface Tokens {
  readonly access: string;
  readonly endsAt: number;
  readonly refresh: string | undefined;
}

/** A token is renewed this long before it ends, so that none ends on its way. */
const RENEW_BEFORE_MS = 30_000;

/** The issuer would have to show something: its answers to `prompt=none` (OpenID Connect Core, 3.1.2.6). */
const NEEDS_PERSON = ['login_required', 'interaction_required', 'consent_required', 'account_selection_required'];

/** Authorization code with PKCE, as OAuth 2.0 for Browser-Based Apps has it for a page without a server. */
export class Oidc {
  readonly #config: OidcConfig;
  readonly #client: oauth.Client;
  // The issuer sends people back to one address, which its administrator registered.
  readonly #redirectUri = `${location.origin}/`;
  readonly #options: { readonly [oauth.allowInsecureRequests]?: true };
  #server: Promise<oauth.AuthorizationServer> | undefined;
  #tokens: Tokens | undefined;
  #renewal: Promise<void> | undefined;

  constructor(config: OidcConfig) {
    this.#config = config;
    this.#client = { client_id: config.client_id };
    this.#options = isLoopback(config.issuer) ? { [oauth.allowInsecureRequests]: true } : {};
  }

  /** Takes the issuer's answer in the address, or leaves for the issuer: silently first, so that a reload shows nothing. */
  async start(): Promise<SignIn> {
    const journey = endJourney();
    const answer = new URL(location.href);
    const has = (name: string) => answer.searchParams.has(name);
    const isAnswer = answer.pathname === '/' && has('state') && (has('code') || has('error'));
    if (journey !== undefined && isAnswer) return this.#comeBack(journey, answer);
    if (this.#tokens !== undefined) return { state: 'in' };
    if (isAnswer) {
      history.replaceState(null, '', '/');
      return this.#out(t('This address is the answer to a sign-in that this tab did not begin.'));
    }
    return hasSignedOut() ? this.#signedOut() : this.#leave({ silent: true });
  }

  ended(): SignedOut {
    return hasSignedOut() ? this.#signedOut() : this.#out(t('Your session has ended.'));
  }

  #discovered(): Promise<oauth.AuthorizationServer> {
    const at = new URL(this.#config.issuer);
    this.#server ??= oauth
      .discoveryRequest(at, this.#options)
      .then((answer) => oauth.processDiscoveryResponse(at, answer));
    this.#server.catch(() => {
      this.#server = undefined;
    });
    return this.#server;
  }

  async #leave(how: Pick<Journey, 'silent'> & Partial<Journey>): Promise<SignIn> {
    const { silent, back = wayBack(location) } = how;
    const { client_id, scope } = this.#config;
    const { authorization_endpoint } = await this.#discovered();
    if (authorization_endpoint === undefined) throw new Error('The issuer names no authorization_endpoint');
    const journey: Journey = {
      state: oauth.generateRandomState(),
      nonce: oauth.generateRandomNonce(),
      verifier: oauth.generateRandomCodeVerifier(),
      back,
      silent,
    };
    const url = new URL(authorization_endpoint);
    for (const [name, value] of Object.entries({
      response_type: 'code',
      client_id,
      redirect_uri: this.#redirectUri,
      scope,
      state: journey.state,
      nonce: journey.nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(journey.verifier),
      code_challenge_method: 'S256',
      ...(silent && { prompt: 'none' }),
    })) {
      url.searchParams.set(name, value);
    }
    beginJourney(journey);
    location.assign(url);
    return { state: 'leaving' };
  }

  #out(why: string, remedy = t('Sign in again: the page comes back to where it is.')): SignedOut {
    this.#tokens = undefined;
    return { state: 'out', why, remedy, again: () => this.#again() };
  }

  #again(): void {
    sessionStorage.removeItem(LEFT);
    // An issuer that cannot be reached shows up when the page starts, with a button to try again.
    this.#leave({ silent: false }).catch(() => location.reload());
  }

  async #comeBack(journey: Journey, answer: URL): Promise<SignIn> {
    history.replaceState(null, '', journey.back);
    const as = await this.#discovered();
    try {
      const params = oauth.validateAuthResponse(as, this.#client, answer, journey.state);
      const given = await oauth.authorizationCodeGrantRequest(
        as,
        this.#client,
        oauth.None(),
        params,
        this.#redirectUri,
        journey.verifier,
        this.#options,
      );
      this.#take(
        await oauth.processAuthorizationCodeResponse(as, this.#client, given, {
          expectedNonce: journey.nonce,
          requireIdToken: true,
        }),
      );
      return { state: 'in' };
    } catch (error) {
      if (error instanceof TypeError) throw error;
      const refusal = refusalOf(error);
      if (journey.silent && refusal !== undefined && NEEDS_PERSON.includes(refusal))
        return this.#leave({ silent: false, back: journey.back });
      if (refusal === undefined) {
        return this.#out(
          t('The answer of the issuer does not belong to the sign-in that this tab began, or is not valid.'),
        );
      }
      return this.#out(
        t('The issuer did not sign you in: {refusal}.', { refusal }),
        t('Sign in again. If that is refused too, ask whoever decides who gets in.'),
      );
    }
  }

  #take(given: oauth.TokenEndpointResponse): void {
    this.#tokens = {
      access: given.access_token,
      // Without a lifetime the API says when it is over.
      endsAt: given.expires_in === undefined ? Number.POSITIVE_INFINITY : Date.now() + given.expires_in * 1000,
      refresh: given.refresh_token ?? this.#tokens?.refresh,
    };
  }

  async #renew(refresh: string): Promise<void> {
    const as = await this.#discovered();
    const answer = await oauth.refreshTokenGrantRequest(as, this.#client, oauth.None(), refresh, this.#options);
    const given = await oauth.processRefreshTokenResponse(as, this.#client, answer);
    // Somebody may have signed out in the meantime.
    if (this.#tokens !== undefined) this.#take(given);
  }

  async accessToken(): Promise<string | undefined> {
    if (this.#tokens === undefined || Date.now() < this.#tokens.endsAt - RENEW_BEFORE_MS) return this.#tokens?.access;
    const { refresh } = this.#tokens;
    try {
      if (refresh !== undefined) {
        // An issuer may take a refresh token once only, and several requests start together.
        this.#renewal ??= this.#renew(refresh).finally(() => {
          this.#renewal = undefined;
        });
        await this.#renewal;
      }
    } catch (error) {
      if (!(error instanceof TypeError)) this.#tokens = this.#tokens && { ...this.#tokens, refresh: undefined };
      else if (Date.now() >= (this.#tokens?.endsAt ?? 0)) throw error;
    }
    // Without a token, or with one that is over, the API answers 401, and the page says that the session has ended.
    return this.#tokens?.access;
  }

  async signOut(): Promise<SignIn> {
    const before = this.#tokens;
    this.#tokens = undefined;
    // Outlives the issuer's sign-out page, so that nothing signs in again by itself.
    sessionStorage.setItem(LEFT, '1');
    const as = await this.#discovered();
    if (before?.refresh !== undefined && as.revocation_endpoint !== undefined) {
      await oauth
        .revocationRequest(as, this.#client, oauth.None(), before.refresh, this.#options)
        .catch(() => undefined);
    }
    if (as.end_session_endpoint === undefined) return this.#signedOut();
    const url = new URL(as.end_session_endpoint);
    url.searchParams.set('client_id', this.#config.client_id);
    url.searchParams.set('post_logout_redirect_uri', this.#redirectUri);
    // Cognito has its own name for it; issuers ignore what they do not know.
    url.searchParams.set('logout_uri', this.#redirectUri);
    location.assign(url);
    return { state: 'leaving' };
  }

  #signedOut(): SignedOut {
    return this.#out(t('You have signed out.'), t('Sign in to go on.'));
  }
}

/** Path and query to come back to. `//x` would be another host, which no page may put into its address. */
export const wayBack = ({ pathname, search }: Pick<Location, 'pathname' | 'search'>): string =>
  pathname.replace(/^\/+/, '/') + search;

function refusalOf(error: unknown): string | undefined {
  const refused = error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError;
  return refused ? error.error : undefined;
}

/** Tests have an issuer of this machine. Everywhere else tokens travel by https only. */
const isLoopback = (issuer: string): boolean => ['127.0.0.1', 'localhost'].includes(new URL(issuer).hostname);

/** What the page must know again when the issuer sends the browser back. Nothing of it opens anything by itself. */
export interface Journey {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** Path and query to come back to. */
  readonly back: string;
  /** Whether the issuer was asked to show nothing. */
  readonly silent: boolean;
}

const JOURNEY = 'console:sign-in';
const LEFT = 'console:signed-out';

/** Keeps the journey in this tab only. No token is ever stored. */
function beginJourney(journey: Journey): void {
  sessionStorage.setItem(JOURNEY, JSON.stringify(journey));
}

/** The journey that this tab began, once: a second return with the same address finds none. */
function endJourney(): Journey | undefined {
  const text = sessionStorage.getItem(JOURNEY);
  sessionStorage.removeItem(JOURNEY);
  return text === null ? undefined : JSON.parse(text);
}

const hasSignedOut = (): boolean => sessionStorage.getItem(LEFT) !== null;
