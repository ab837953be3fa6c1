import * as v from 'valibot';
import type { Decided, Decision } from '../core/operator/audit.ts';
import type { DeleteLetters } from './chosen/actions.ts';
import type { Role } from './contract/choices.ts';
import type { Out } from './contract/fields.ts';
import type { Health, Overview } from './contract/overview.ts';
import type { OperatorDeps } from './deps.ts';

/** Who calls, as authenticated by the loopback server or by the authorizer of the deployed API. */
export interface Caller {
  /** For the audit: the user of the machine, or the token's `sub`. */
  readonly who: string;
  /** For display only: the issuer may let people change their names. */
  readonly name?: string | undefined;
  readonly role: Role;
}

/** What routes share. */
export interface RouteDeps extends OperatorDeps {
  /** Makes a process run an operation: this one, or a function that a message starts. */
  readonly startRun: (operation_id: string) => Promise<void>;
  readonly deleteLetters: DeleteLetters;
  /** Makes a process work on the stage's verification. */
  readonly startVerification: () => Promise<void>;
  readonly overview: () => Promise<Overview>;
  readonly health: () => Promise<Health>;
}

/** The names of the `{…}` in a key. */
type Names<K extends string> = K extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never;

/** A request whose parameters are checked. */
interface Asked<K extends string, I> {
  readonly caller: Caller;
  readonly path: Readonly<Record<Names<K>, string>>;
  readonly input: I;
}

/** The data of a route, from which server, OpenAPI document, types of the page and commands in refusals are made. */
interface Described<
  K extends string = string,
  S extends v.GenericSchema = v.GenericSchema,
  A extends v.GenericSchema = v.GenericSchema,
> {
  /** Method and path. A GET is answered with an ETag and takes If-None-Match. */
  readonly key: K;
  readonly operation_id: string;
  readonly summary: string;
  /** The least role that may call it. */
  readonly role: Role;
  /** The query of a GET, the body of a POST. */
  readonly takes: S;
  /** Largest body in bytes; absent: the kernel's limit. */
  readonly max_bytes?: number;
  readonly answer: A;
  /** The command of `ops` that does the same, or shows more, and the parameter of the path that is its argument. */
  readonly command: readonly [command: string, parameter?: string];
}

type Handle<K extends string, I, O> = (asked: Asked<K, I>, deps: RouteDeps) => Promise<O> | O;

/** A route that changes nothing. */
interface ReadRoute<K extends string, S extends v.GenericSchema, A extends v.GenericSchema> extends Described<K, S, A> {
  readonly handle: Handle<K, v.InferOutput<S>, Out<A>>;
}

/** A POST that changes something or shows a recipient: its decision is audited, and run once per request_id. */
interface DecisionRoute<K extends string, S extends v.GenericSchema, A extends v.GenericSchema, R>
  extends Described<K, S, A> {
  readonly decide: Handle<K, v.InferOutput<S>, Decision<R>>;
  /** The answer, where it is more than what the audit log keeps for a repeated request. */
  readonly show?: (decided: Decided<R>, asked: Asked<K, v.InferOutput<S>>, deps: RouteDeps) => Promise<Out<A>> | Out<A>;
}

/** A route in a list of routes: only the route itself knows the type of its input. */
export type AnyRoute = Described &
  (
    | { readonly handle: Handle<string, never, unknown> }
    | {
        readonly decide: Handle<string, never, Decision<unknown>>;
        readonly show?: (decided: Decided<never>, asked: Asked<string, never>, deps: RouteDeps) => unknown;
      }
  );

type Rest<R> = Omit<R, 'key' | 'role' | 'takes'>;

/** A GET without parameters. */
export function show<const K extends `GET /api/${string}`, A extends v.GenericSchema>(
  key: K,
  route: Rest<ReadRoute<K, typeof NOTHING, A>>,
): ReadRoute<K, typeof NOTHING, A> {
  return { key, role: 'viewer', takes: NOTHING, ...route };
}

const NOTHING = v.strictObject({});

export function list<const K extends `GET /api/${string}`, S extends v.GenericSchema, A extends v.GenericSchema>(
  key: K,
  takes: S,
  route: Rest<ReadRoute<K, S, A>>,
): ReadRoute<K, S, A> {
  return { key, role: 'viewer', takes, ...route };
}

/** A POST that only reads: its input is too long for a URL, or must not appear in one. */
export function question<const K extends `POST /api/${string}`, S extends v.GenericSchema, A extends v.GenericSchema>(
  key: K,
  takes: S,
  route: Rest<ReadRoute<K, S, A>>,
): ReadRoute<K, S, A> {
  return { key, role: 'operator', takes, ...route };
}

export function decision<
  const K extends `POST /api/${string}`,
  S extends v.GenericSchema,
  A extends v.GenericSchema,
  R = Out<A>,
>(
  key: K,
  takes: S,
  route: Rest<DecisionRoute<K, S, A, R>> & (R extends Out<A> ? unknown : { readonly show: object }),
): DecisionRoute<K, S, A, R> {
  return { key, role: 'operator', takes, ...route };
}
