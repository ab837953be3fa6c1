import { toJsonSchema } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import { PROBLEMS, type ProblemName } from '../../core/intake/problem.ts';
import * as requests from './request-schemas.ts';
import * as responses from './response-schemas.ts';

type Json = Readonly<Record<string, unknown>>;

/** The document at /v1/openapi.json, made from the very schemas that check requests. */
export function openApiDocument(): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'notification-retry',
      version: '1.0.0',
      summary: 'Hand notifications over; they are retried until delivered, exhausted or pointless.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ api_key: [] }],
    tags: [{ name: 'send' }, { name: 'read' }, { name: 'operate' }].map((tag) => ({
      ...tag,
      description: `Needs a key with the scope ${tag.name}`,
    })),
    paths: {
      '/v1/notifications': {
        post: operation('send', 'sendNotification', 'Hand a notification over', {
          parameters: [idempotencyHeader],
          requestBody: jsonBody('Notification'),
          ok: acceptedAnswer,
          problems: ['invalid-request', 'idempotency-key-missing', 'idempotency-key-reused', 'request-in-progress'],
        }),
        get: operation(
          'read',
          'listNotifications',
          "List the tenant's notifications, newest day first; copies of one notification_id in no order",
          {
            parameters: queryParameters(),
            ok: { 200: answer('Notifications', 'NotificationList') },
            problems: ['invalid-request'],
          },
        ),
      },
      '/v1/notifications/batch': {
        post: operation(
          'send',
          'sendNotifications',
          'Hand up to 100 notifications over; each has a result of its own',
          {
            parameters: [idempotencyHeader],
            requestBody: jsonBody('Batch'),
            ok: {
              200: answer('A result each, in their order', 'BatchResults', {
                'Retry-After': { ...retryAfter, description: 'Whole seconds, where a result is 503' },
              }),
            },
            problems: ['invalid-request', 'idempotency-key-missing'],
          },
        ),
      },
      '/v1/notifications/{log_id}': {
        get: operation('read', 'getNotification', 'Tell where a notification stands', {
          parameters: [logId],
          ok: { 200: answer('The notification', 'NotificationState') },
          problems: ['not-found'],
        }),
      },
      '/v1/notifications/{log_id}/failures': {
        post: operation(
          'send',
          'reportFailure',
          "Report a failed send of the producer's own; from there on it is retried here",
          {
            parameters: [logId],
            requestBody: jsonBody('Failure'),
            ok: acceptedAnswer,
            problems: ['invalid-request', 'not-found', 'conflict'],
          },
        ),
      },
      '/v1/notifications/{log_id}/retry': {
        post: operation('operate', 'retryNotification', 'Attempt it now', {
          parameters: [logId],
          ok: { 202: answer('It is queued', 'Accepted') },
          problems: ['not-found', 'conflict'],
        }),
      },
      '/v1/openapi.json': {
        get: {
          operationId: 'getOpenApi',
          summary: 'This document',
          security: [],
          responses: {
            200: { description: 'OpenAPI 3.1', content: { 'application/json': { schema: { type: 'object' } } } },
            ...problemAnswers(['unavailable']),
          },
        },
      },
    },
    components: {
      securitySchemes: { api_key: { type: 'http', scheme: 'bearer', bearerFormat: 'nrk_<key_id>_<secret>' } },
      schemas: {
        Notification: schemaOf(requests.notificationSchema),
        Batch: batchSchema(),
        Failure: schemaOf(requests.failureSchema),
        Accepted: schemaOf(responses.accepted),
        BatchResults: schemaOf(responses.batchResults),
        NotificationState: schemaOf(responses.notificationState),
        NotificationList: schemaOf(responses.notificationList),
        Problem: schemaOf(responses.problem),
        GatewayRefusal: schemaOf(responses.gatewayRefusal),
      },
    },
  };
}

/** What JSON Schema cannot say (that text is well-formed, that a time exists) is left out of it. */
function schemaOf(schema: v.GenericSchema): Json {
  const { $schema: _, ...rest } = toJsonSchema(schema, {
    target: 'draft-2020-12',
    typeMode: 'input',
    errorMode: 'ignore',
  });
  return rest;
}

function batchSchema(): Json {
  const { properties, ...rest } = schemaOf(requests.batchSchema) as { properties: Readonly<Record<string, Json>> };
  const items = schemaOf(requests.batchItemSchema);
  return { ...rest, properties: { ...properties, notifications: { ...properties['notifications'], items } } };
}

const idempotencyHeader = {
  name: 'Idempotency-Key',
  in: 'header',
  required: true,
  description: 'The same for every try of one request; remembered for 72 hours',
  schema: schemaOf(requests.idempotencyKey),
};
const logId = { name: 'log_id', in: 'path', required: true, schema: { type: 'string', minLength: 1 } };

function queryParameters(): Json[] {
  const { properties = {} } = schemaOf(requests.querySchema) as { properties?: Readonly<Record<string, Json>> };
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', schema }));
}

function answer(description: string, name: string, headers?: Json): Json {
  return { description, content: { 'application/json': { schema: reference(name) } }, ...(headers && { headers }) };
}

const acceptedAnswer = {
  202: answer('It is stored and on its way', 'Accepted', {
    'Idempotent-Replayed': { description: '`true` on a repeat', schema: { const: 'true' } },
  }),
};

interface Operation {
  readonly parameters: readonly Json[];
  readonly requestBody?: Json;
  readonly ok: Json;
  readonly problems: readonly ProblemName[];
}

/** What any request with a key can meet. */
const COMMON: readonly ProblemName[] = ['unauthenticated', 'forbidden', 'too-large', 'rate-limited', 'unavailable'];

function operation(scope: string, operationId: string, summary: string, { ok, problems, ...rest }: Operation): Json {
  const responses = { ...ok, ...problemAnswers([...problems, ...COMMON]) };
  return { tags: [scope], operationId, summary, ...rest, responses };
}

function problemAnswers(names: readonly ProblemName[]): Json {
  const byStatus = Map.groupBy(names, (name) => PROBLEMS[name].status);
  const answers = [...byStatus].map(([status, same]) => [status, problemAnswer(status, same)]);
  return { ...Object.fromEntries(answers), 500: answer('API Gateway could not ask the service', 'GatewayRefusal') };
}

/** Statuses that API Gateway also gives by itself, in its own words. */
const GATEWAYS_OWN = new Set([401, 413, 429, 503]);
const retryAfter = { description: 'Whole seconds', schema: { type: 'string', pattern: '^[0-9]+$' } };
const WITH_RETRY_AFTER: ReadonlySet<ProblemName> = new Set(['request-in-progress', 'rate-limited', 'unavailable']);

function problemAnswer(status: number, names: readonly ProblemName[]): Json {
  return {
    description: names.map((name) => `${name}: ${PROBLEMS[name].title}`).join('. '),
    content: {
      'application/problem+json': { schema: reference('Problem') },
      ...(GATEWAYS_OWN.has(status) && { 'application/json': { schema: reference('GatewayRefusal') } }),
    },
    ...(names.some((name) => WITH_RETRY_AFTER.has(name)) && {
      headers: { 'Retry-After': retryAfter },
    }),
  };
}

function jsonBody(name: string): Json {
  return { required: true, content: { 'application/json': { schema: reference(name) } } };
}

function reference(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}
