import * as v from 'valibot';
import { keyedHash } from '../adapters/signing/hashed-ids.ts';
import { PROBLEMS, Problem, type ProblemName, problemDocument } from '../core/model/problem.ts';
import { type AuditDeps, audited, type Decided, type Decision, recorded } from '../core/operator/audit.ts';
import { check } from '../http/check.ts';
import { createKernel, type Given, type HttpAnswer, type Route } from '../http/kernel.ts';
import type { Decider } from './audit.ts';
import { shellCommand } from './contract/choices.ts';
import { id, type ProblemBody } from './contract/fields.ts';
import { type OperatorBinding, operatorDeps } from './deps.ts';
import { createHealth, createOverview } from './overview.ts';
import type { AnyRoute, Caller, RouteDeps } from './route.ts';

export interface ConsoleOptions extends OperatorBinding {
  /** Called with each error on our side, of which the answer gives no details. */
  readonly onFault: (error: unknown, route: string) => void;
}

/** Binds the routes to a deployment, for the loopback server and for the deployed functions. */
export function createConsole(
  { onFault, ...binding }: ConsoleOptions,
  processes: Pick<RouteDeps, 'startRun' | 'startVerification' | 'deleteLetters'>,
  routes: readonly AnyRoute[],
) {
  const { clock, local } = binding;
  const deps = operatorDeps(binding);
  const { recipientHashKey: hashKey } = binding.deployment;
  const shared = { ...deps, ...processes, overview: createOverview(deps), health: createHealth(deps) };
  return createKernel<Caller, Caller, ReturnType<typeof served>>(
    routes.map((route) =>
      served(route, shared, { ...shared, hashKey, onUnwritten: (error) => onFault(error, `audit of ${route.key}`) }),
    ),
    {
      clock,
      noSuchPath: 'The console has no such path, or the path has no such method.',
      admit({ role }, { caller }) {
        if (role === 'viewer' || caller.role === 'operator') return caller;
        throw new Problem('forbidden', 'Only operators may do this; you are a viewer.');
      },
      refusal: (problem, { key, path }) =>
        problemBody(
          problem,
          local,
          routes.find((route) => route.key === key),
          path,
        ),
      failed: 'The request failed on our side. Try it again.',
      onFault: (error, _, key) => onFault(error, key),
      etag: true,
      charset: '; charset=utf-8',
    },
  );
}

/** Parameters of the path are ids: DynamoDB refuses longer keys, which would look like an error on our side. */
const PATH = v.record(v.string(), id);

/** A route as the kernel takes it: its input is checked, and its decision is audited and run once. */
function served(
  route: AnyRoute,
  deps: RouteDeps,
  auditing: Parameters<typeof decideOnce>[3],
): Route<Caller> & Pick<AnyRoute, 'role'> {
  const { key, role, takes, max_bytes } = route;
  const isRead = key.startsWith('GET ');
  return {
    key,
    role,
    ...(isRead ? { query: takes } : { body: takes }),
    ...(max_bytes !== undefined && { max_bytes }),
    async handle({ caller, path, ...given }: Given<Caller, never, never>) {
      const asked = { caller, path: check(PATH, path), input: isRead ? given.query() : given.body() };
      if ('handle' in route) return { body: (await route.handle(asked, deps)) as object };
      const decided = await decideOnce(await route.decide(asked, deps), key, asked, auditing);
      const shown = route.show === undefined ? decided.answer : route.show(decided as never, asked, deps);
      return { body: (await shown) as object };
    },
  };
}

interface RepeatableRequest {
  readonly caller: Decider;
  readonly path: Readonly<Record<string, string | undefined>>;
  readonly input: { readonly request_id: string };
}

/** Runs a decision of the page once per request_id: the page repeats a request that got no answer. */
export async function decideOnce<A>(
  { audit, run }: Decision<A>,
  route: string,
  { caller: { who, role }, path, input }: RepeatableRequest,
  deps: AuditDeps & { readonly hashKey: () => Promise<string> },
): Promise<Decided<A>> {
  if (audit === undefined) return { ...(await run()), repeated: false };
  const { request_id } = input;
  const action = { who, role, ...audit, request_id };
  if (audit.shows) return { ...(await recorded(action, deps, run)), repeated: false };
  // Keyed, as the input holds an address where a recipient is corrected or suppressed.
  const asked = JSON.stringify([who, route, path, input]);
  const fingerprint = keyedHash(await deps.hashKey(), 'decisions', asked).toString('base64url');
  return audited({ ...action, fingerprint }, deps, run);
}

/** What a person does about a refusal. */
const REMEDIES: Readonly<Record<ProblemName, string>> = {
  'invalid-request': 'Correct what the message names.',
  'idempotency-key-missing': 'Reload the page.',
  unauthenticated: 'Sign in again: open the address that `ops console` printed, or reload the page.',
  forbidden: 'Ask whoever gives access for the role operator; the runbook says how.',
  'not-found': 'Look for it in the list; it may have expired.',
  'no-such-path': 'Reload the page: it may be older than the server.',
  conflict: 'Reload to see the present state, then decide again.',
  'idempotency-key-reused': 'Reload the page, then try again.',
  'request-in-progress': 'Wait some seconds, then look at the result.',
  'too-large': 'Choose fewer at once, or use an operation by filter.',
  'rate-limited': 'Wait some seconds, then try again.',
  unavailable: 'Try again in some seconds. If it stays, look at the status in the shell.',
};

/** Titles of problems whose own titles are about API keys. */
const TITLES: Readonly<Partial<Record<ProblemName, string>>> = {
  unauthenticated: 'You are not signed in',
  forbidden: 'You may not do this',
};

/** The command for requests that have none of their own. */
const LOOK = { command: ['status'] } as const satisfies Pick<AnyRoute, 'command'>;

/** @param path the parameters of the path; callers choose them, so they are quoted for the shell */
export function problemBody(
  problem: Problem,
  local: boolean,
  { command: [command, parameter] }: Pick<AnyRoute, 'command'> = LOOK,
  path: Readonly<Record<string, string | undefined>> = {},
): ProblemBody {
  const document = problemDocument(problem);
  const args = parameter === undefined ? [] : [path[parameter] ?? ''];
  return {
    ...document,
    title: TITLES[problem.problem] ?? document.title,
    remedy: REMEDIES[problem.problem],
    command: shellCommand(command, local, [], args),
  };
}

/** The refusal of a request before it reaches a route. */
export function refuse(problem: ProblemName, detail: string, local: boolean): HttpAnswer {
  return {
    status: PROBLEMS[problem].status,
    headers: { 'content-type': 'application/problem+json; charset=utf-8', 'cache-control': 'no-store' },
    body: JSON.stringify(problemBody(new Problem(problem, detail), local)),
  };
}

/** Whether a path of the console is one of newsletters, which have a function of their own where there are any. */
export const isOfNewsletters = (path: string): boolean => /^\/api\/(newsletters|emails|members)(\/|$)/.test(path);
