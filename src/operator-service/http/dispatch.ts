import { createHash } from 'node:crypto';
import { PROBLEMS, Problem, unavailable } from '../../core/model/problem.ts';
import { check } from '../../http/check.ts';
import { matchRoute } from '../../http/paths.ts';
import { needsOperator } from '../contract/routes.ts';
import { problemBody } from './problem-body.ts';
import type { ConsoleAnswer, ConsoleRequest } from './request.ts';
import type { RouteTable } from './routes.ts';

export interface DispatchOptions {
  /** Takes what failed on our side. */
  readonly onFault: (error: unknown, route: string) => void;
  /** Whether commands get `--local`. */
  readonly local: boolean;
}

/** Largest body: a hundred log_ids and a filter. */
const MAX_BYTES = 64 * 1024;

/** Answers requests by the routes. It never rejects: every failure is a problem with its remedy. */
export function createDispatch(routes: RouteTable, { onFault, local }: DispatchOptions) {
  const keys = Object.keys(routes);

  async function handle(request: ConsoleRequest, key: string, path: Readonly<Record<string, string>>) {
    const route = routes[key as keyof RouteTable];
    if (route === undefined) throw new Problem('no-such-path', 'The console has no such path.');
    if (needsOperator(key) && request.caller.role !== 'operator') {
      throw new Problem('forbidden', 'Only operators may do this; you are a viewer.');
    }
    if (Buffer.byteLength(request.body) > MAX_BYTES) {
      throw new Problem('too-large', `The body of the request may have at most ${MAX_BYTES} bytes.`);
    }
    const input = check(route.schema, request.method === 'GET' ? request.query : parse(request.body));
    return route.handle({ caller: request.caller, path, input: input as never });
  }

  return async (request: ConsoleRequest): Promise<ConsoleAnswer> => {
    let key = '';
    let path: Readonly<Record<string, string>> = {};
    try {
      const match = matchRoute(keys, request.method, request.path);
      if (match === undefined) {
        throw new Problem('no-such-path', 'The console has no such path, or the path has no such method.');
      }
      key = match.key;
      path = match.path;
      return succeed(await handle(request, key, path), request);
    } catch (error) {
      if (!(error instanceof Problem)) onFault(error, key);
      const problem = error instanceof Problem ? error : unavailable('The request failed on our side. Try it again.');
      return fail(problem, key, local, path);
    }
  };
}

function succeed(value: object, request: ConsoleRequest): ConsoleAnswer {
  const body = JSON.stringify(value);
  if (request.method !== 'GET') return { status: 200, headers: JSON_HEADERS, body };
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  const headers = { ...JSON_HEADERS, 'cache-control': 'no-cache, private', etag };
  // A proxy that compresses may have made the tag weak.
  const known = (request.if_none_match ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return known.includes(etag) ? { status: 304, headers, body: '' } : { status: 200, headers, body };
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };

/** The answer to a refusal, also of the front. */
export function fail(
  problem: Problem,
  key: string,
  local: boolean,
  path: Readonly<Record<string, string>> = {},
): ConsoleAnswer {
  return {
    status: PROBLEMS[problem.problem].status,
    headers: { ...JSON_HEADERS, 'content-type': 'application/problem+json; charset=utf-8' },
    body: JSON.stringify(problemBody(problem, key, local, path)),
  };
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new Problem('invalid-request', 'The body of the request must be JSON.', {
      errors: [{ path: '', rule: 'json', message: 'must be JSON' }],
    });
  }
}
