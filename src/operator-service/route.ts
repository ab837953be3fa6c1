import type * as v from 'valibot';
import type { AnswerOf, RouteKey } from './contract/routes.ts';
import type { Role } from './contract/session.ts';

/** Who asks; the front (loopback, or the authorizer of the deployed API) found it out. */
export interface Caller {
  readonly who: string;
  readonly role: Role;
}

/** A request whose parameters are checked. */
export interface Checked<I> {
  readonly caller: Caller;
  readonly path: Readonly<Record<string, string | undefined>>;
  /** The query of a GET, the body of a POST. */
  readonly input: I;
}

/** A route with the schema of its query or body, as the dispatcher takes it: the type of the input is known to `schema` and `handle` only. */
export interface AnyRoute {
  readonly schema: v.GenericSchema;
  readonly handle: (request: Checked<never>) => Promise<object>;
}

export type RouteTable = Readonly<Partial<Record<RouteKey, AnyRoute>>>;

/** Types `handle` by the schema, and its answer by the contract of the route. */
export function route<K extends RouteKey, S extends v.GenericSchema>(
  _key: K,
  schema: S,
  handle: (request: Checked<v.InferOutput<S>>) => Promise<AnswerOf<K>>,
): AnyRoute {
  return { schema, handle: handle as AnyRoute['handle'] };
}
