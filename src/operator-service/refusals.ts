import { PROBLEMS, Problem, type ProblemName, problemDocument } from '../core/model/problem.ts';
import type { HttpAnswer } from '../http/kernel.ts';
import type { ProblemBody } from './contract/page.ts';
import type { RouteKey } from './contract/routes.ts';
import { shellCommand } from './contract/shell-command.ts';

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

type Command = readonly [command: string, parameter?: string];
/** What shows more where the shell does nothing that is like the request. */
const LOOK: Command = ['status'];
/** Where the shell does what a route does, or shows more: a command, and the parameter of the path that it takes. */
const COMMANDS: Readonly<Record<RouteKey, Command>> = {
  'GET /api/session': LOOK,
  'GET /api/overview': ['status'],
  'GET /api/notifications': ['list'],
  'GET /api/notifications/{log_id}': ['show', 'log_id'],
  'POST /api/notifications/{log_id}/reveal': ['show', 'log_id'],
  'POST /api/recipient-hash': ['list --recipient - --tenant TENANT'],
  'POST /api/actions': ['list'],
  'GET /api/dead-letters': ['dlq list'],
  'GET /api/operations': ['replay --dry-run'],
  'POST /api/operations': ['replay --dry-run'],
  'GET /api/operations/{operation_id}': ['replay --id', 'operation_id'],
  'POST /api/operations/{operation_id}/start': ['replay --id', 'operation_id'],
  'POST /api/operations/{operation_id}/pause': ['audit --target', 'operation_id'],
  'POST /api/operations/{operation_id}/resume': ['replay --id', 'operation_id'],
  'POST /api/operations/{operation_id}/cancel': ['audit --target', 'operation_id'],
  'GET /api/newsletters': ['emails list --tenant TENANT'],
  'GET /api/emails': ['emails list --tenant TENANT'],
  'GET /api/emails/{email_id}': ['emails status', 'email_id'],
  'GET /api/emails/{email_id}/recipients': ['emails recipients', 'email_id'],
  'POST /api/emails/{email_id}/retry': ['emails retry', 'email_id'],
  'POST /api/emails/{email_id}/pause': ['emails pause', 'email_id'],
  'POST /api/emails/{email_id}/resume': ['emails resume', 'email_id'],
  'POST /api/emails/{email_id}/cancel': ['emails cancel', 'email_id'],
  'POST /api/emails/{email_id}/resolve': ['emails status', 'email_id'],
  'GET /api/keys': ['keys list'],
  'POST /api/keys': ['keys list'],
  'POST /api/keys/{key_id}/revoke': ['keys revoke', 'key_id'],
  'GET /api/audit': ['audit'],
};

/** @param path the parameters of the route's path: others choose them, so they are quoted for the shell */
export function problemBody(
  problem: Problem,
  key: string,
  local: boolean,
  path: Readonly<Record<string, string>> = {},
): ProblemBody {
  const document = problemDocument(problem);
  const [command, parameter] = isRoute(key) ? COMMANDS[key] : LOOK;
  const args = parameter === undefined ? [] : [path[parameter] ?? ''];
  return {
    ...document,
    title: TITLES[problem.problem] ?? document.title,
    remedy: REMEDIES[problem.problem],
    command: shellCommand(command, local, args),
  };
}

function isRoute(key: string): key is RouteKey {
  return Object.hasOwn(COMMANDS, key);
}

/** The answer of a front that lets a request reach no route. */
export function refuse(problem: ProblemName, detail: string, local: boolean): HttpAnswer {
  return {
    status: PROBLEMS[problem].status,
    headers: { 'content-type': 'application/problem+json; charset=utf-8', 'cache-control': 'no-store' },
    body: JSON.stringify(problemBody(new Problem(problem, detail), '', local)),
  };
}
