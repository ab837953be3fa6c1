import { claimForSend } from '../delivery/transitions/claims.ts';
import { planIndex } from '../indexing/index-plan.ts';
import { rowFaults } from '../indexing/row-rules.ts';
import type { IndexShards } from '../model/index-shards.ts';
import { INTAKE_API, type NotificationContent, type NotificationRow } from '../model/notification.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import { withChange } from '../model/row-change.ts';
import { describeFaults } from '../model/row-state.ts';
import { attemptedAt, type JudgedSend, judgeSend } from './failed-send.ts';
import type { NotificationRequest } from './notification-request.ts';

/** What the row of a request has beside its content, as JSON: neither the recipients nor the words. */
export function acceptedRequest({ fallback, ...request }: NotificationRequest): string {
  const { recipient: _, subject: __, body: ___, format: ____, traceparent: _____, ...columns } = request;
  if (fallback === undefined) return JSON.stringify(columns);
  const { recipient: ______, ...routing } = fallback;
  return JSON.stringify({ ...columns, fallback: routing });
}

/** The request whose other columns `acceptedRequest` kept. A fallback recipient stays sealed with the content. */
export function requestOf(
  accepted_request: string,
  content: Pick<NotificationRequest, 'recipient' | 'subject' | 'body' | 'format' | 'traceparent'>,
): NotificationRequest {
  const { fallback, ...columns } = JSON.parse(accepted_request) as Omit<NotificationRequest, keyof typeof content>;
  return { ...columns, ...content, ...(fallback && { fallback: { ...fallback, recipient: 'sealed' } }) };
}

/** A notification as it enters the tables. Its row still lacks the recipient's hash, which only storage can compute. */
export interface NewNotification {
  readonly row: NotificationRow & { readonly created_at: string; readonly expires_at: number };
  readonly content: NotificationContent;
  /** The producer's own send, if the request reports one. */
  readonly failed?: JudgedSend;
}

/**
 * The row and content of a request. The row has all index keys, so that the stream's filter does not call the indexer.
 * It is planned by the indexer's own code, and so obeys the same row rules.
 */
export function newNotification(
  { log_id, tenant_id, accepted_at }: Pick<NotificationRow, 'log_id' | 'tenant_id'> & { readonly accepted_at: Date },
  request: NotificationRequest,
  policy: RetryPolicy,
  shards?: IndexShards,
): NewNotification {
  const { recipient, subject, body, format, fallback, failed_attempt, ...columns } = request;
  const inline = {
    ...columns,
    log_id,
    is_deleted: false,
    tenant_id,
    notification_type: request.channel.toUpperCase(),
    send_status: 'PENDING',
    send_attempts: 0,
    created_at: accepted_at.toISOString(),
    created_by: INTAKE_API,
    recipient_address: recipient,
    subject,
    message_body: body,
    message_format: format,
    ...(fallback && {
      fallback_channel: fallback.channel,
      fallback_recipient: fallback.recipient,
      fallback_integration_config_id: fallback.integration_config_id,
    }),
  };
  const plan = planIndex(inline, accepted_at, policy, { shards });
  if (plan.do !== 'index' || plan.content === undefined) {
    throw new Error(`A request passed validation but breaks row rules: ${describeFaults(rowFaults(inline))}`);
  }
  const row: Record<string, unknown> = { ...inline, ...plan.set };
  for (const column of plan.remove) delete row[column];
  const pending = row as unknown as NewNotification['row'];
  // A request has all of its content.
  const content = plan.content as NotificationContent;
  if (failed_attempt === undefined) return { row: pending, content };
  const at = attemptedAt(failed_attempt, accepted_at);
  const claimed = { ...pending, ...claimForSend(pending, at, accepted_at) };
  const failed = judgeSend(claimed, failed_attempt, accepted_at, policy);
  const settled = failed.change && (withChange(claimed, failed.change) as NewNotification['row']);
  return { row: settled ?? claimed, content, failed };
}
