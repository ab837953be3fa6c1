import type { ProblemBody } from '../../src/application/contract/fields.ts';
import type { ConsoleRoutes, RouteKey } from '../../src/application/routes.ts';
import { pathSegment } from '../../src/http/paths.ts';
import { t } from '../language/language.ts';
import { accessToken, sessionEnded } from './sign-in/sign-in.ts';

export type GetRoute = Extract<RouteKey, `GET ${string}`>;
export type PostRoute = Extract<RouteKey, `POST ${string}`>;
export type Answer<K extends RouteKey> = ConsoleRoutes[K]['answer'];
export type Query<K extends GetRoute> = ConsoleRoutes[K]['takes'];
export type Body<K extends PostRoute> = ConsoleRoutes[K]['takes'];
/** The values of the `{…}` in a route. */
export type Params = Readonly<Record<string, string>>;

/** A refusal by the console's API, or that it could not be reached. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly problem: ProblemBody;

  constructor(problem: ProblemBody) {
    super(problem.detail);
    this.problem = problem;
  }
}

const UNREACHABLE: ProblemBody = {
  type: 'about:blank',
  title: t('The console cannot be reached'),
  status: 0,
  detail: t('The request got no answer.'),
  remedy: t(
    'Check that the program which serves this page still runs, and the network. The page tries again by itself.',
  ),
};

/** The last answer per URL, so that a poll that finds nothing new costs a 304. */
const known = new Map<string, { readonly etag: string; readonly body: unknown }>();
const MOST_KNOWN = 100;

/** @throws ProblemError; AbortError when the signal aborts */
export async function read<K extends GetRoute>(
  route: K,
  params: Params,
  query: Query<K>,
  signal?: AbortSignal,
): Promise<Answer<K>> {
  const url = urlOf(route, params, query);
  const before = known.get(url);
  const headers = before === undefined ? {} : { 'if-none-match': before.etag };
  const response = await send(url, { headers, ...(signal && { signal }) });
  if (response.status === 304 && before !== undefined) return before.body as Answer<K>;
  const body = await bodyOf(response);
  const etag = response.headers.get('etag');
  if (etag !== null) {
    known.delete(url);
    known.set(url, { etag, body });
    for (const oldest of known.keys()) if (known.size > MOST_KNOWN) known.delete(oldest);
  }
  return body as Answer<K>;
}

/**
 * Asks for a change. The body carries a request id that the caller made once per decision, so that a repeated click or
 * a repeated request acts once.
 * @throws ProblemError
 */
export async function write<K extends PostRoute>(route: K, params: Params, body: Body<K>): Promise<Answer<K>> {
  const response = await send(urlOf(route, params, {}), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await bodyOf(response)) as Answer<K>;
}

export function problemOf(error: unknown): ProblemBody {
  if (error instanceof ProblemError) return error.problem;
  return {
    ...UNREACHABLE,
    title: t('The page has a defect'),
    detail: String(error),
    remedy: t('Load the page again.'),
  };
}

function urlOf(route: string, params: Params, query: object): string {
  const path = route.replace(/^\w+ /, '').replace(/\{(\w+)\}/g, (_, name: string) => pathSegment(params[name] ?? ''));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== '') search.set(name, value);
  return search.size === 0 ? path : `${path}?${search}`;
}

async function send(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    const token = await accessToken();
    const headers = { ...init.headers, accept: 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
    response = await fetch(url, { ...init, headers, cache: 'no-store', credentials: 'same-origin', redirect: 'error' });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ProblemError(UNREACHABLE);
  }
  if (response.status === 401) sessionEnded();
  return response;
}

async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new ProblemError({
      ...UNREACHABLE,
      status: response.status,
      detail: t('The answer {status} is not JSON.', { status: response.status }),
    });
  }
  if (response.ok) return body;
  const problem: Partial<ProblemBody> = typeof body === 'object' && body !== null ? body : {};
  throw new ProblemError({ ...UNREACHABLE, title: t('The request was refused'), ...problem, status: response.status });
}
