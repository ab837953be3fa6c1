import type { IncomingHttpHeaders } from 'node:http';

export interface GuardedRequest {
  readonly method?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly url?: string | undefined;
}

/** Whether pages of another origin may send requests to this path. */
export type AllowPage = (origin: string, path: string) => boolean;

/**
 * Why a request to a server on loopback is refused; undefined: it is not. Any page in a browser of this machine can send
 * requests to loopback. So the host must be this machine by address or as localhost (a name of somebody else could lead
 * here: DNS rebinding), and a page may send requests only to the server that it is from, unless `allowPage` says more.
 */
export function loopbackRefusal(
  { headers, method, url }: GuardedRequest,
  allowPage: AllowPage = () => false,
): string | undefined {
  const { host = '', origin } = headers;
  if (!THIS_MACHINE.test(host)) return 'The Host of the request is not this machine';
  // A request for CORS always names its origin; one that names none gets no answer that a page could read.
  if (origin !== undefined && allowPage(origin, url ?? '/')) return undefined;
  if (origin !== undefined && origin !== `http://${host}`) return 'The request comes from a page of another origin';
  const site = headers['sec-fetch-site'];
  const opened = method === 'GET' && headers['sec-fetch-mode'] === 'navigate';
  const foreign = site !== undefined && site !== 'same-origin' && site !== 'none';
  return foreign && !opened ? 'The request comes from a page of another site' : undefined;
}

/** Any port, because a tunnel has another one at its other end. */
const THIS_MACHINE = /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(?::\d+)?$/i;

/** Whether a browser says that a page of this very server sends the request; other programs say nothing. */
export function isOwnPage({ headers }: GuardedRequest): boolean {
  const { host = '', origin } = headers;
  return origin === `http://${host}` || headers['sec-fetch-site'] === 'same-origin';
}
