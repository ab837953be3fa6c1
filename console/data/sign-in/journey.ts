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
export function beginJourney(journey: Journey): void {
  sessionStorage.setItem(JOURNEY, JSON.stringify(journey));
}

/** The journey that this tab began, once: a second return with the same address finds none. */
export function endJourney(): Journey | undefined {
  const text = sessionStorage.getItem(JOURNEY);
  sessionStorage.removeItem(JOURNEY);
  return text === null ? undefined : JSON.parse(text);
}

/** Remembers across the issuer's sign-out page that a person left, so that nothing signs in again by itself. */
export function rememberSignOut(): void {
  sessionStorage.setItem(LEFT, '1');
}

export function hasSignedOut(): boolean {
  return sessionStorage.getItem(LEFT) !== null;
}

export function forgetSignOut(): void {
  sessionStorage.removeItem(LEFT);
}
