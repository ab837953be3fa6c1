import type { RouteKey } from '../contract/routes.ts';

/** What each route does, in one line. */
export const SUMMARIES: Readonly<Record<RouteKey, { readonly operationId: string; readonly summary: string }>> = {
  'GET /api/session': { operationId: 'getSession', summary: 'Who acts, with which role, and where' },
  'GET /api/overview': { operationId: 'getOverview', summary: 'What is due, waiting and dead, why, and the last day' },
  'GET /api/notifications': { operationId: 'listNotifications', summary: 'Notifications that match a filter' },
  'GET /api/notifications/{log_id}': {
    operationId: 'getNotification',
    summary: 'A notification with its attempts, its remedy and what can be done',
  },
  'POST /api/notifications/{log_id}/reveal': {
    operationId: 'revealRecipient',
    summary: 'The recipient; the audit log keeps who asked',
  },
  'POST /api/recipient-hash': {
    operationId: 'hashRecipient',
    summary: 'The hash by which a list finds a recipient, so that no URL holds the address',
  },
  'POST /api/actions': { operationId: 'act', summary: 'Retries, cancels or gives up single notifications' },
  'GET /api/dead-letters': { operationId: 'listDeadLetters', summary: 'Dead notifications, grouped by their cause' },
  'GET /api/operations': { operationId: 'listOperations', summary: 'Bulk operations, newest first' },
  'POST /api/operations': {
    operationId: 'createOperation',
    summary: 'Makes a bulk operation and its preview; nothing changes before its start',
  },
  'GET /api/operations/{operation_id}': { operationId: 'getOperation', summary: 'A bulk operation with its progress' },
  'POST /api/operations/{operation_id}/start': { operationId: 'startOperation', summary: 'Starts a bulk operation' },
  'POST /api/operations/{operation_id}/pause': { operationId: 'pauseOperation', summary: 'Pauses a bulk operation' },
  'POST /api/operations/{operation_id}/resume': {
    operationId: 'resumeOperation',
    summary: 'Goes on with a bulk operation that is paused or failed',
  },
  'POST /api/operations/{operation_id}/cancel': {
    operationId: 'cancelOperation',
    summary: 'Ends a bulk operation; what it took stays done',
  },
  'GET /api/newsletters': { operationId: 'listNewsletters', summary: 'Newsletters of a tenant, or of all' },
  'GET /api/emails': { operationId: 'listEmails', summary: 'E-mails of a tenant, newest first' },
  'GET /api/emails/{email_id}': { operationId: 'getEmail', summary: 'An e-mail with its counts and progress' },
  'GET /api/emails/{email_id}/recipients': {
    operationId: 'listRecipients',
    summary: 'Recipients of an e-mail by state, without addresses',
  },
  'POST /api/emails/{email_id}/retry': { operationId: 'retryEmail', summary: 'Sends what was not submitted' },
  'POST /api/emails/{email_id}/pause': { operationId: 'pauseEmail', summary: 'Pauses an e-mail' },
  'POST /api/emails/{email_id}/resume': { operationId: 'resumeEmail', summary: 'Goes on with an e-mail' },
  'POST /api/emails/{email_id}/cancel': { operationId: 'cancelEmail', summary: 'Cancels an e-mail before it is sent' },
  'POST /api/emails/{email_id}/resolve': {
    operationId: 'resolveEmail',
    summary: 'Decides about the uncertain recipients: to send again, or to leave them',
  },
  'GET /api/keys': { operationId: 'listKeys', summary: 'Keys of the intake API, without their secrets' },
  'POST /api/keys': { operationId: 'createKey', summary: 'Makes a key; its secret is shown this once' },
  'POST /api/keys/{key_id}/revoke': { operationId: 'revokeKey', summary: 'Revokes a key' },
  'GET /api/audit': { operationId: 'listAudit', summary: 'Who did what when, newest first' },
};
