import * as v from 'valibot';
import { acceptedEmail, emailList, resolvedEmail } from '../../adapters/api/email-schemas.ts';
import type { AnswerOf, RouteKey } from '../contract/routes.ts';
import { ROLES } from '../contract/session.ts';
import { emailDetail, newsletterList, recipientList } from './newsletter-answers.ts';
import { actionAnswer, auditList, deadLetters, notificationDetail, notificationList } from './notification-answers.ts';
import { operationList, operationView } from './operation-answers.ts';
import { overview } from './overview-answer.ts';
import { nextPage, time } from './parts.ts';

const session = v.strictObject({
  who: v.string(),
  role: v.picklist(ROLES),
  stage: v.string(),
  region: v.string(),
  local: v.boolean(),
  poll_ms: v.number(),
});

const key = v.strictObject({
  key_id: v.string(),
  tenant_id: v.string(),
  scopes: v.array(v.string()),
  state: v.picklist(['valid', 'expired', 'revoked']),
  created_at: time,
  expires_at: v.exactOptional(time),
  revoked_at: v.exactOptional(time),
  rate_limit: v.exactOptional(v.number()),
  description: v.exactOptional(v.string()),
});

/** What each route answers with 200: the types of the contract as schemas. The compiler compares the two. */
export const ANSWERS = {
  'GET /api/session': session,
  'GET /api/overview': overview,
  'GET /api/notifications': notificationList,
  'GET /api/notifications/{log_id}': notificationDetail,
  'POST /api/notifications/{log_id}/reveal': v.strictObject({ recipient: v.string() }),
  'POST /api/recipient-hash': v.strictObject({ recipient_hash: v.string() }),
  'POST /api/actions': actionAnswer,
  'GET /api/dead-letters': deadLetters,
  'GET /api/operations': operationList,
  'POST /api/operations': operationView,
  'GET /api/operations/{operation_id}': operationView,
  'POST /api/operations/{operation_id}/start': operationView,
  'POST /api/operations/{operation_id}/pause': operationView,
  'POST /api/operations/{operation_id}/resume': operationView,
  'POST /api/operations/{operation_id}/cancel': operationView,
  'GET /api/newsletters': newsletterList,
  'GET /api/emails': emailList,
  'GET /api/emails/{email_id}': emailDetail,
  'GET /api/emails/{email_id}/recipients': recipientList,
  'POST /api/emails/{email_id}/retry': acceptedEmail,
  'POST /api/emails/{email_id}/pause': acceptedEmail,
  'POST /api/emails/{email_id}/resume': acceptedEmail,
  'POST /api/emails/{email_id}/cancel': acceptedEmail,
  'POST /api/emails/{email_id}/resolve': resolvedEmail,
  'GET /api/keys': v.strictObject({ keys: v.array(key), ...nextPage }),
  'POST /api/keys': v.strictObject({ key_id: v.string(), key: v.nullable(v.string()) }),
  'POST /api/keys/{key_id}/revoke': v.strictObject({ key_id: v.string(), revoked_at: time }),
  'GET /api/audit': auditList,
} as const satisfies { readonly [K in RouteKey]: v.GenericSchema<unknown, AnswerOf<K>> };
