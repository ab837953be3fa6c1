import type * as v from 'valibot';
import type { ProblemName } from '../../core/model/problem.ts';
import { problemAnswers } from './openapi-answers.ts';
import { reference, type SchemaName, schemaOf } from './openapi-components.ts';
import { idempotencyKey } from './request-schemas.ts';

type Json = Readonly<Record<string, unknown>>;

export const idempotencyHeader = {
  name: 'Idempotency-Key',
  in: 'header',
  required: true,
  description: 'The same for every try of one request. It is remembered for 72 hours',
  schema: schemaOf(idempotencyKey),
};

interface Operation {
  readonly parameters: readonly Json[];
  readonly requestBody?: Json;
  readonly ok: Json;
  readonly problems: readonly ProblemName[];
}

/** Problems that any request with a key can meet. */
const COMMON: readonly ProblemName[] = ['unauthenticated', 'forbidden', 'too-large', 'rate-limited', 'unavailable'];

export function operation(
  scope: string,
  operationId: string,
  summary: string,
  { ok, problems, ...rest }: Operation,
): Json {
  const responses = { ...ok, ...problemAnswers([...problems, ...COMMON]) };
  return { tags: [scope], operationId, summary, ...rest, responses };
}

export function jsonBody(name: SchemaName): Json {
  return { required: true, content: { 'application/json': { schema: reference(name) } } };
}

export function queryParameters(schema: v.GenericSchema): Json[] {
  const { properties = {} } = schemaOf(schema) as { properties?: Readonly<Record<string, Json>> };
  return Object.entries(properties).map(([name, of]) => ({ name, in: 'query', schema: of }));
}
