import type * as v from 'valibot';
import type { AuditList, auditQuery } from './audit.ts';
import type { DeadLetters, deadLettersQuery } from './dead-letters.ts';
import type { CreatedKey, createKeyBody, KeyList, keysQuery, RevokedKey, revokeKeyBody } from './keys.ts';
import type {
  EmailActionAnswer,
  EmailDetail,
  EmailList,
  emailActionBody,
  emailsQuery,
  NewsletterList,
  newslettersQuery,
  RecipientList,
  ResolveAnswer,
  recipientsQuery,
  resolveBody,
} from './newsletters.ts';
import type {
  ActionAnswer,
  actionBody,
  NotificationDetail,
  NotificationList,
  notificationsQuery,
  RecipientHash,
  Revealed,
  recipientHashBody,
  revealBody,
} from './notifications.ts';
import type {
  createOperationBody,
  OperationList,
  OperationView,
  operationActionBody,
  operationsQuery,
} from './operations.ts';
import type { Overview } from './overview.ts';
import type { SessionView } from './session.ts';

interface Read<Q, A> {
  readonly query: Q;
  readonly answer: A;
}
interface Write<B, A> {
  readonly body: B;
  readonly answer: A;
}
type In<S extends v.GenericSchema> = v.InferInput<S>;
type None = Readonly<Record<string, never>>;

/**
 * Every route, with what it takes and answers. A GET answers with an `ETag` and takes `If-None-Match` (304). A POST
 * takes JSON. Every refusal is a ProblemBody as `application/problem+json`.
 */
export interface ConsoleRoutes {
  'GET /api/session': Read<None, SessionView>;
  'GET /api/overview': Read<None, Overview>;
  'GET /api/notifications': Read<In<typeof notificationsQuery>, NotificationList>;
  'GET /api/notifications/{log_id}': Read<None, NotificationDetail>;
  'POST /api/notifications/{log_id}/reveal': Write<In<typeof revealBody>, Revealed>;
  'POST /api/recipient-hash': Write<In<typeof recipientHashBody>, RecipientHash>;
  'POST /api/actions': Write<In<typeof actionBody>, ActionAnswer>;
  'GET /api/dead-letters': Read<In<typeof deadLettersQuery>, DeadLetters>;
  'GET /api/operations': Read<In<typeof operationsQuery>, OperationList>;
  'POST /api/operations': Write<In<typeof createOperationBody>, OperationView>;
  'GET /api/operations/{operation_id}': Read<None, OperationView>;
  'POST /api/operations/{operation_id}/start': Write<In<typeof operationActionBody>, OperationView>;
  'POST /api/operations/{operation_id}/pause': Write<In<typeof operationActionBody>, OperationView>;
  'POST /api/operations/{operation_id}/resume': Write<In<typeof operationActionBody>, OperationView>;
  'POST /api/operations/{operation_id}/cancel': Write<In<typeof operationActionBody>, OperationView>;
  'GET /api/newsletters': Read<In<typeof newslettersQuery>, NewsletterList>;
  'GET /api/emails': Read<In<typeof emailsQuery>, EmailList>;
  'GET /api/emails/{email_id}': Read<None, EmailDetail>;
  'GET /api/emails/{email_id}/recipients': Read<In<typeof recipientsQuery>, RecipientList>;
  'POST /api/emails/{email_id}/retry': Write<In<typeof emailActionBody>, EmailActionAnswer>;
  'POST /api/emails/{email_id}/pause': Write<In<typeof emailActionBody>, EmailActionAnswer>;
  'POST /api/emails/{email_id}/resume': Write<In<typeof emailActionBody>, EmailActionAnswer>;
  'POST /api/emails/{email_id}/cancel': Write<In<typeof emailActionBody>, EmailActionAnswer>;
  'POST /api/emails/{email_id}/resolve': Write<In<typeof resolveBody>, ResolveAnswer>;
  'GET /api/keys': Read<In<typeof keysQuery>, KeyList>;
  'POST /api/keys': Write<In<typeof createKeyBody>, CreatedKey>;
  'POST /api/keys/{key_id}/revoke': Write<In<typeof revokeKeyBody>, RevokedKey>;
  'GET /api/audit': Read<In<typeof auditQuery>, AuditList>;
}

export type RouteKey = keyof ConsoleRoutes;
export type AnswerOf<K extends RouteKey> = ConsoleRoutes[K]['answer'];

/** The routes that only an operator may call: they change something, or show who receives. */
export function needsOperator(route: string): boolean {
  return route.startsWith('POST ') && route !== 'POST /api/recipient-hash';
}
