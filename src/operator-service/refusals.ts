import { PROBLEMS, Problem, type ProblemName, problemDocument } from '../core/model/problem.ts';
import type { HttpAnswer } from '../http/kernel.ts';
import { shellCommand } from './contract/choices.ts';
import type { ProblemBody } from './contract/fields.ts';
import type { AnyRoute } from './route.ts';

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

/** Titles that would speak of API keys. */
const TITLES: Readonly<Partial<Record<ProblemName, string>>> = {
  unauthenticated: 'You are not signed in',
  forbidden: 'You may not do this',
};

/** What shows more where the shell does nothing that is like the request. */
const LOOK = { command: ['status'] } as const satisfies Pick<AnyRoute, 'command'>;

/**
 * @param route that refuses; undefined: there is none
 * @param path the parameters of the route's path: others choose them, so they are quoted for the shell
 */
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

/** The answer of a front that lets a request reach no route. */
export function refuse(problem: ProblemName, detail: string, local: boolean): HttpAnswer {
  return {
    status: PROBLEMS[problem].status,
    headers: { 'content-type': 'application/problem+json; charset=utf-8', 'cache-control': 'no-store' },
    body: JSON.stringify(problemBody(new Problem(problem, detail), local)),
  };
}
