import { PROBLEMS, type ProblemName } from '../../core/model/problem.ts';
import { reference, type SchemaName } from './openapi-components.ts';

type Json = Readonly<Record<string, unknown>>;

const retryAfter = { description: 'Whole seconds', schema: { type: 'string', pattern: '^[0-9]+$' } };

/** A JSON answer of a schema. */
export function answer(description: string, name: SchemaName, headers?: Json): Json {
  return { description, content: { 'application/json': { schema: reference(name) } }, ...(headers && { headers }) };
}

export const acceptedAnswer = {
  202: answer('The request is stored', 'Accepted', {
    'Idempotent-Replayed': { description: '`true` on a repeat', schema: { const: 'true' } },
  }),
};

export const retryAfterSome = { 'Retry-After': { ...retryAfter, description: 'Whole seconds, if a result is 503' } };

export const batchAnswer = {
  200: answer('One result per item, in the order of the items', 'BatchResults', retryAfterSome),
};

/** One answer per status. A status that several problems share names them all. */
export function problemAnswers(names: readonly ProblemName[]): Json {
  const byStatus = Map.groupBy(names, (name) => PROBLEMS[name].status);
  const answers = [...byStatus].map(([status, same]) => [status, problemAnswer(status, same)]);
  return { ...Object.fromEntries(answers), 500: answer('API Gateway could not reach the service', 'GatewayRefusal') };
}

/** Statuses that API Gateway also returns by itself, with its own body. */
const GATEWAY_STATUSES = new Set([401, 413, 429, 503]);
const WITH_RETRY_AFTER: ReadonlySet<ProblemName> = new Set(['request-in-progress', 'rate-limited', 'unavailable']);

function problemAnswer(status: number, names: readonly ProblemName[]): Json {
  return {
    description: names.map((name) => `${name}: ${PROBLEMS[name].title}`).join('. '),
    content: {
      'application/problem+json': { schema: reference('Problem') },
      ...(GATEWAY_STATUSES.has(status) && { 'application/json': { schema: reference('GatewayRefusal') } }),
    },
    ...(names.some((name) => WITH_RETRY_AFTER.has(name)) && { headers: { 'Retry-After': retryAfter } }),
  };
}
