import type { Role } from '../contract/session.ts';

/** Who sends the request; the front (loopback, or the authorizer of the deployed API) found it out. */
export interface Caller {
  readonly who: string;
  readonly role: Role;
}

/** A request for a route, whatever brought it. */
export interface ConsoleRequest {
  readonly method: string;
  /** Path without the query, still encoded. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: string;
  readonly if_none_match?: string | undefined;
  readonly caller: Caller;
}

export interface ConsoleAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; empty with 304. */
  readonly body: string;
}
