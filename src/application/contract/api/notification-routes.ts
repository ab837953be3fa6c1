import { accepted, batchResults, notificationList, notificationState } from './answers.ts';
import { batchSchema, failureSchema, notificationSchema, querySchema } from './intake.ts';
import { type ApiRoutes, MAX_BATCH_BYTES, MAX_TEXT_BYTES, REPLAYED, RETRY_AFTER_SOME } from './route.ts';
import { tokenAnswer, tokenSchema } from './tokens.ts';

const SEND = {
  scope: 'send',
  idempotency: {
    needed: true,
    description: 'The same for every try of one request. It is remembered for 72 hours',
  },
} as const;
const ACCEPTS = { status: 202, description: 'The request is stored', schema: accepted, headers: REPLAYED } as const;

/** Producers hand over notifications, one or up to a hundred at a time, and report failed sends. */
export const INTAKE_ROUTES = {
  sendNotification: {
    ...SEND,
    key: 'POST /v1/notifications',
    summary: 'Hand over a notification',
    tokens: 'send',
    max_bytes: MAX_TEXT_BYTES,
    body: notificationSchema,
    answer: ACCEPTS,
    problems: ['idempotency-key-reused', 'request-in-progress'],
  },
  sendNotifications: {
    ...SEND,
    key: 'POST /v1/notifications/batch',
    summary: 'Hand over up to 100 notifications. Each has its own result',
    max_bytes: MAX_BATCH_BYTES,
    body: batchSchema,
    answer: {
      status: 200,
      description: 'One result per item, in the order of the items',
      schema: batchResults,
      headers: RETRY_AFTER_SOME,
    },
  },
  reportFailure: {
    key: 'POST /v1/notifications/{log_id}/failures',
    summary: 'Report a send that the producer made itself and that failed. The service retries it',
    scope: 'send',
    max_bytes: 32 * 1024,
    body: failureSchema,
    answer: ACCEPTS,
    problems: ['not-found', 'conflict'],
  },
} as const satisfies ApiRoutes;

/** They show the state of notifications and retry them. */
export const NOTIFICATION_ROUTES = {
  listNotifications: {
    key: 'GET /v1/notifications',
    summary: "List the tenant's notifications, newest first. Copies of one notification_id have no order",
    scope: 'read',
    query: querySchema,
    answer: { status: 200, description: 'Notifications', schema: notificationList },
  },
  getNotification: {
    key: 'GET /v1/notifications/{log_id}',
    summary: 'Show the state of a notification',
    scope: 'read',
    tokens: 'log_id',
    answer: { status: 200, description: 'The notification', schema: notificationState },
    problems: ['not-found'],
  },
  retryNotification: {
    key: 'POST /v1/notifications/{log_id}/retry',
    summary: 'Retry a notification now',
    scope: 'operate',
    tokens: 'log_id',
    answer: { status: 202, description: 'The retry is queued', schema: accepted },
    problems: ['not-found', 'conflict'],
  },
  getOpenApi: {
    key: 'GET /v1/openapi.json',
    summary: 'This document',
    scope: 'none',
    answer: { status: 200, description: 'OpenAPI 3.1' },
  },
} as const satisfies ApiRoutes;

/** A producer's server gets tokens for its pages (docs/decisions/intake/keys-rights-and-limits.md#0149). */
export const TOKEN_ROUTES = {
  createToken: {
    key: 'POST /v1/tokens',
    summary: 'Get a short-lived token for a web page. It may do less than its key',
    scope: 'any',
    idempotency: { needed: false },
    body: tokenSchema,
    answer: {
      status: 201,
      description: 'The token. It is sent like a key: Authorization: Bearer <token>',
      schema: tokenAnswer,
    },
  },
} as const satisfies ApiRoutes;
