/** A viewer sees everything but recipients and changes nothing; an operator does what `ops` does. */
export const ROLES = ['viewer', 'operator'] as const;
export type Role = (typeof ROLES)[number];

/** `GET /api/session`. */
export interface SessionView {
  /** Who acts, as the audit names them: the user of the machine, or the claim of the token. */
  readonly who: string;
  readonly role: Role;
  /** Name of the stack, or `local`. */
  readonly stage: string;
  readonly region: string;
  /** Whether shell commands get `--local`. */
  readonly local: boolean;
  /** Milliseconds between two polls of a list that the page shows. */
  readonly poll_ms: number;
}

/**
 * `GET /config.json`, a static file: how the page signs in. `none`: requests need nothing. `cookie`: the page posts the
 * token from its URL's fragment to `POST /api/session` once, then the cookie does. `oidc`: authorization code with PKCE;
 * the page sends the access token as `Authorization: Bearer`, and keeps it in memory only.
 */
export type ConsoleConfig =
  | { readonly sign_in: 'none' }
  | { readonly sign_in: 'cookie' }
  | { readonly sign_in: 'oidc'; readonly issuer: string; readonly client_id: string; readonly scope: string };
