import { changeUntil } from '../../model/changes.ts';
import { groupsOf } from '../../model/collections.ts';
import { type Clock, epochMs, expiresAt, isoAfter } from '../../model/time.ts';
import { sentBatches } from '../accounting/counts.ts';
import type { Batch } from '../model/batch.ts';
import type { Email } from '../model/email.ts';
import { JOB_RETRY_SETTINGS, type JobLimits } from '../model/job-limits.ts';
import type { BatchStore, Change, EmailStore } from '../model/ports.ts';
import { withNextAt } from './plan-slots.ts';

export interface LockDeps {
  readonly emails: Pick<EmailStore, 'read' | 'change'>;
  readonly batches: Pick<BatchStore, 'read' | 'list' | 'change'>;
  readonly clock: Clock;
  readonly limits: JobLimits;
}

/**
 * updateStatusLock (batch-sending-service-job.md, 排他制御): pending or failed → submitting. Of several starts one wins;
 * undefined for the others. A failed email is sent again from its failed batches, and only what was not submitted. The
 * lock of a preparation expires when its holder crashes.
 */
export async function lockEmail(email: Email, claim_id: string, deps: LockDeps): Promise<Email | undefined> {
  if (email.status === 'failed') await resetFailed(email.email_id, deps);
  const { row, changed } = await changeUntil(
    () => deps.emails.read(email.email_id),
    (found) => (isAsFree(found, email) ? lock(found, claim_id, deps) : undefined),
    deps.emails.change,
    { from: email },
  );
  // The lock may be this one: its answer was lost, and it was taken again at another time.
  return changed ?? (row?.claim_id === claim_id ? row : undefined);
}

/** What a start is decided by. */
const DECIDED_BY = ['status', 'paused', 'claim_id', 'claim_until', 'replaced_at', 'scheduled_at'] as const;

/**
 * The count pass and late events change the row, too: that is no other start (docs/decisions/newsletters/job.md#0185).
 * An email that was replaced may be for later, and its replacement has it started.
 */
function isAsFree(found: Email, decided: Email): boolean {
  return DECIDED_BY.every((name) => found[name] === decided[name]);
}

/** Members come and go: a count from earlier than this before the start is an estimate, which is made anew. */
const COUNT_MS = 10 * 60_000;

function lock(email: Email, claim_id: string, { clock, limits }: LockDeps): Change<Email> {
  const now = clock();
  const window = email.delivery_window_minutes;
  // A preparation that is taken over goes on; a start, and a retry, has a window, a count and a moment of its own.
  const isNew = email.status !== 'submitting';
  const isFirst = isNew && email.prepared === undefined;
  const submitting_at = (isFirst ? undefined : email.submitting_at) ?? now.toISOString();
  const isOld = now.getTime() - epochMs(email.counted_at ?? email.created_at) > COUNT_MS;
  const old = isFirst && isOld ? (['email_count', 'counted_at'] as const) : [];
  const set = {
    status: 'submitting',
    claim_id,
    submitting_at,
    // The links of its mails are valid as long as the row.
    expires_at: Math.max(email.expires_at, expiresAt(now)),
    ...(window !== undefined && isNew && { delivery_deadline: isoAfter(now, window * 60_000) }),
  } as const;
  if (email.prepared !== undefined) return withNextAt(set, now.toISOString(), ['error', 'error_code', 'claim_until']);
  const claim_until = isoAfter(now, limits.lease_ms);
  return withNextAt({ ...set, claim_until }, claim_until, ['error', 'error_code', ...old]);
}

async function resetFailed(email_id: string, deps: LockDeps): Promise<void> {
  const failed = sentBatches(await deps.batches.list(email_id)).filter(({ status }) => status === 'failed');
  // A million recipients make a thousand batches, and the request that retries them waits for it.
  for (const group of groupsOf(failed, WRITE_CONCURRENCY))
    await Promise.all(group.map((batch) => resetBatch(batch, deps)));
}

/** Events and late records change a failed batch, too: a reset that meets one is made again. */
async function resetBatch(batch: Batch, { batches }: LockDeps): Promise<void> {
  const reset = ({ status, tries_before: before = 0 }: Batch): Change<Batch> | undefined => {
    // Nobody has more, whatever the stage allowed when they were made: recipients that were given up are tried again.
    const tries_before = before + JOB_RETRY_SETTINGS.providerRetries.to + 1;
    if (status !== 'failed') return undefined;
    return {
      set: { status: 'pending', provider_failures: 0, tries_before },
      remove: ['not_before', 'suspects', 'error_status_code', 'error_message', 'error_data'],
    };
  };
  await changeUntil(() => batches.read(batch.email_id, batch.batch_id), reset, batches.change, { from: batch });
}

/** Changes of storage that one request makes at once: enough for a million recipients in seconds, few enough to throttle none. */
const WRITE_CONCURRENCY = 20;
