import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CorsPlan } from '../template/http-apis.ts';

/** Answers a preflight as API Gateway does: without a function, and without permission for other origins. */
export function answerPreflight(
  cors: CorsPlan | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const { origin, 'access-control-request-method': wanted } = request.headers;
  if (cors === undefined || request.method !== 'OPTIONS' || wanted === undefined) return false;
  const allowed = isAllowed(cors, origin) && {
    ...corsHeaders(cors, origin),
    'access-control-allow-methods': cors.methods.join(','),
    'access-control-allow-headers': cors.headers.join(','),
    'access-control-max-age': String(cors.max_age_seconds),
  };
  response.writeHead(204, allowed || {}).end();
  return true;
}

/** The headers that let a page read an answer; none for pages of other origins. */
export function corsHeaders(cors: CorsPlan | undefined, origin: string | undefined): Record<string, string> {
  if (cors === undefined || origin === undefined || !isAllowed(cors, origin)) return {};
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': cors.exposed.join(',') };
}

export function isAllowed(cors: CorsPlan | undefined, origin: string | undefined): boolean {
  return cors !== undefined && origin !== undefined && cors.origins.includes(origin);
}
