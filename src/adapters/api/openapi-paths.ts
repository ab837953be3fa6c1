import { acceptedAnswer, answer, batchAnswer, problemAnswers } from './openapi-answers.ts';
import { emailPaths } from './openapi-email-paths.ts';
import { newsletterPaths } from './openapi-newsletter-paths.ts';
import { idempotencyHeader, jsonBody, operation, queryParameters } from './openapi-operation.ts';
import { querySchema } from './request-schemas.ts';

type Json = Readonly<Record<string, unknown>>;

const logId = { name: 'log_id', in: 'path', required: true, schema: { type: 'string', minLength: 1 } };

/** The operations of each path, by method. */
export function paths(): Json {
  return {
    '/v1/notifications': {
      post: operation('send', 'sendNotification', 'Hand over a notification', {
        parameters: [idempotencyHeader],
        requestBody: jsonBody('Notification'),
        ok: acceptedAnswer,
        problems: ['invalid-request', 'idempotency-key-missing', 'idempotency-key-reused', 'request-in-progress'],
      }),
      get: operation(
        'read',
        'listNotifications',
        "List the tenant's notifications, newest day first. Copies of one notification_id have no order",
        {
          parameters: queryParameters(querySchema),
          ok: { 200: answer('Notifications', 'NotificationList') },
          problems: ['invalid-request'],
        },
      ),
    },
    '/v1/notifications/batch': {
      post: operation('send', 'sendNotifications', 'Hand over up to 100 notifications. Each has its own result', {
        parameters: [idempotencyHeader],
        requestBody: jsonBody('Batch'),
        ok: batchAnswer,
        problems: ['invalid-request', 'idempotency-key-missing'],
      }),
    },
    '/v1/notifications/{log_id}': {
      get: operation('read', 'getNotification', 'Show the state of a notification', {
        parameters: [logId],
        ok: { 200: answer('The notification', 'NotificationState') },
        problems: ['not-found'],
      }),
    },
    '/v1/notifications/{log_id}/failures': {
      post: operation(
        'send',
        'reportFailure',
        'Report a send that the producer made itself and that failed. The service retries it',
        {
          parameters: [logId],
          requestBody: jsonBody('Failure'),
          ok: acceptedAnswer,
          problems: ['invalid-request', 'not-found', 'conflict'],
        },
      ),
    },
    '/v1/notifications/{log_id}/retry': {
      post: operation('operate', 'retryNotification', 'Retry a notification now', {
        parameters: [logId],
        ok: { 202: answer('The retry is queued', 'Accepted') },
        problems: ['not-found', 'conflict'],
      }),
    },
    '/v1/tokens': {
      post: operation('tokens', 'createToken', 'Get a short-lived token for a web page. It may do less than its key', {
        parameters: [],
        requestBody: jsonBody('TokenRequest'),
        ok: { 201: answer('The token. It is sent like a key: Authorization: Bearer <token>', 'Token') },
        problems: ['invalid-request', 'idempotency-key-missing'],
      }),
    },
    ...newsletterPaths(),
    ...emailPaths(),
    '/v1/openapi.json': { get: openApiOperation() },
  };
}

function openApiOperation(): Json {
  return {
    operationId: 'getOpenApi',
    summary: 'This document',
    security: [],
    responses: {
      200: { description: 'OpenAPI 3.1', content: { 'application/json': { schema: { type: 'object' } } } },
      ...problemAnswers(['rate-limited', 'unavailable']),
    },
  };
}
