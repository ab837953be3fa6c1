import type { Item } from '../../handover/item.ts';
import type { FlushReport } from '../flush.ts';
import type { Listed } from '../spool-reader.ts';

/** A file of the spool as an operator may see it: without recipients and content. */
export function fileView({ folder, file, ...rest }: Listed) {
  if (rest.header === undefined) return { folder, file, state: 'faulty', fault: rest.fault.message } as const;
  const { firstAttempt, retryCount, notifications, lastError, keyId, givenUp } = rest.header;
  return {
    folder,
    file,
    state: givenUp?.because ?? (folder === 'spool' ? 'waiting' : 'given up'),
    notifications,
    first_attempt: firstAttempt,
    retry_count: retryCount,
    last_error: lastError.reason,
    last_error_at: lastError.at,
    encrypted: keyId !== undefined,
    ...(givenUp && { given_up_at: givenUp.at }),
  };
}

export type FileView = ReturnType<typeof fileView>;

/**
 * An item without recipient and content. The `detail` and the messages of a problem are omitted: they may quote them.
 */
export function itemView(item: Item) {
  const { idempotency_key, problem } = item;
  const refusal = problem && {
    type: problem.type,
    status: problem.status,
    errors: (problem.errors ?? []).map(({ path, rule }) => ({ path, rule })),
  };
  if (item.kind === 'failure') return { kind: item.kind, idempotency_key, log_id: item.log_id, problem: refusal };
  const { channel, priority, notification_id, scheduled_at, body } = item.body;
  const bytes = typeof body === 'string' ? Buffer.byteLength(body) : undefined;
  return {
    kind: item.kind,
    idempotency_key,
    channel,
    priority,
    notification_id,
    scheduled_at,
    bytes,
    problem: refusal,
  };
}

export type ItemView = ReturnType<typeof itemView>;

export function reportView({ givenUp, leftBecause, ...report }: FlushReport) {
  return {
    ...report,
    left_because: leftBecause,
    given_up: givenUp.map(({ firstAttempt, ...given }) => ({ ...given, first_attempt: firstAttempt })),
  };
}
