import * as v from 'valibot';
import type { Decided, Decision } from './audit.ts';
import type { DropLetters } from './chosen/actions.ts';
import type { Role } from './contract/choices.ts';
import type { Out } from './contract/fields.ts';
import type { Health, Overview } from './contract/overview.ts';
import type { OperatorDeps } from './deps.ts';

/** Who asks; the front (loopback, or the authorizer of the deployed API) found it out. */
export interface Caller {
  /** For the audit: the user of the machine, or the token's `sub`. */
  readonly who: string;
  /** What the person calls herself, to show it to her; the issuer may let her change it. */
  readonly name?: string | undefined;
  readonly role: Role;
}

/** What routes share. */
export interface RouteDeps extends OperatorDeps {
  /** Makes a process run an operation: this one, or a function that a message starts. */
  readonly startRun: (operation_id: string) => Promise<void>;
  readonly dropLetters: DropLetters;
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

/** What is said of any route: server, OpenAPI, the page's types and refusals' commands come from it. */
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
  /** Largest body, where the usual one does not do. */
  readonly max_bytes?: number;
  readonly answer: A;
  /** What the shell does alike, or what shows more there, and the parameter of the path that it takes. */
  readonly command: readonly [command: string, parameter?: string];
}

type Handle<K extends string, I, O> = (asked: Asked<K, I>, deps: RouteDeps) => Promise<O> | O;

/** A route that changes nothing. */
interface ReadRoute<K extends string, S extends v.GenericSchema, A extends v.GenericSchema> extends Described<K, S, A> {
  readonly handle: Handle<K, v.InferOutput<S>, Out<A>>;
}

/** A POST that changes something, or shows who receives: its decision is audited, and made once per request_id. */
interface DecisionRoute<K extends string, S extends v.GenericSchema, A extends v.GenericSchema, R>
  extends Described<K, S, A> {
  readonly decide: Handle<K, v.InferOutput<S>, Decision<R>>;
  /** What is answered, where that is not what the audit log keeps for a repeated request. */
  readonly show?: (decided: Decided<R>, asked: Asked<K, v.InferOutput<S>>, deps: RouteDeps) => Promise<Out<A>> | Out<A>;
}

/** A route in a list of all: the types of its input are known to itself only. */
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

/** A POST that asks: what it takes is too long for a URL, or must not stand in one. */
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
