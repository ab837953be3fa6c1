import * as v from 'valibot';
import { ROLES } from './choices.ts';
import type { Out } from './fields.ts';

export const session = v.strictObject({
  /** Who acts: the user of the machine, or the name in the token; the audit log has its `sub`. */
  who: v.string(),
  role: v.picklist(ROLES),
  /** Name of the stack, or `local`. */
  stage: v.string(),
  region: v.string(),
  /** Whether shell commands get `--local`. */
  local: v.boolean(),
  /** What the stage does without, and the page thus does not offer; absent: it has all of it. */
  lacks: v.exactOptional(v.array(v.picklist(['newsletters', 'keys']))),
  /** Milliseconds between two polls of a list that the page shows. */
  poll_ms: v.number(),
});
export type SessionView = Out<typeof session>;

/**
 * `GET /config.json`, a static file: how the page signs in. `none`: requests need nothing. `cookie`: the page posts the
 * token from its URL's fragment to `POST /api/session` once, then the cookie does. `oidc`: authorization code with PKCE;
 * the page sends the access token as `Authorization: Bearer`, and keeps it in memory only.
 */
export type ConsoleConfig =
  | { readonly sign_in: 'none' }
  | { readonly sign_in: 'cookie' }
  | { readonly sign_in: 'oidc'; readonly issuer: string; readonly client_id: string; readonly scope: string };
