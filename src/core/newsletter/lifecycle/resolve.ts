import { Problem } from '../../intake/problem.ts';
import { epochMs, isoAfter } from '../../model/time.ts';
import { changeState } from '../accounting/change-state.ts';
import { acceptUncertain, type NextState, resolveUncertain } from '../accounting/chunk-changes.ts';
import { countChunks, sentBatches } from '../accounting/counts.ts';
import { refreshBatch } from '../accounting/refresh-batch.ts';
import type { Batch } from '../model/batch.ts';
import type { ChunkState } from '../model/chunk.ts';
import { hasBit } from '../model/delivery-bits.ts';
import type { Email } from '../model/email.ts';
import type { BatchStore, ChunkStore, EventStore } from '../model/ports.ts';
import { RECIPIENT_STATES } from '../model/recipient-state.ts';
import type { AdvanceDeps } from './advance.ts';
import { wrongState } from './operate.ts';
import { markOpen, reopen } from './reopen.ts';

export type Resolution = 'resend' | 'leave';

export interface ResolveDeps extends Omit<AdvanceDeps, 'batches'> {
  readonly batches: AdvanceDeps['batches'] & Pick<BatchStore, 'change'>;
  readonly chunks: Pick<ChunkStore, 'states' | 'readState' | 'change'>;
  readonly events: Pick<EventStore, 'read'>;
  readonly newId: () => string;
}

export interface Resolved {
  readonly email: Email;
  /** Uncertain recipients that were decided about. */
  readonly resolved: number;
  /** Batches that are being sent just now: their uncertain recipients can be resolved afterwards. */
  readonly busy: number;
}

/** A write that was begun has ended after so long. */
const WRITE_MS = 20_000;

/**
 * An operator's decision about the uncertain recipients of an email: send to them again, at the risk of a second mail,
 * or leave it at that. Those whom events have shown to be accepted meanwhile are submitted instead. A submitted email
 * whose recipients are resent is submitting again; a failed one sends them with its `retry`.
 * @throws Problem
 */
export async function resolveEmail(email_id: string, action: Resolution, deps: ResolveDeps): Promise<Resolved> {
  const email = await deps.emails.read(email_id);
  if (email === undefined) throw new Problem('not-found', `There is no email ${email_id}.`);
  if (email.prepared === undefined) throw wrongState(email, 'resolved');
  let [resolved, busy] = [0, 0];
  for (const batch of sentBatches(await deps.batches.list(email_id))) {
    if (batch.counts.uncertain === 0) continue;
    const decided = action === 'resend' ? await resend(batch, email, deps) : await leave(batch, deps);
    resolved += decided ?? 0;
    busy += decided === undefined ? 1 : 0;
  }
  if (action === 'resend') await reopen(email_id, deps);
  return { email: (await deps.emails.read(email_id)) ?? email, resolved, busy };
}

/** Nothing is sent because of it, so it may be repeated where it was interrupted. */
async function leave(batch: Batch, deps: ResolveDeps): Promise<number> {
  const resolved = await decide(batch, 'leave', deps, () => {});
  await refreshBatch(batch.email_id, batch.batch_id, deps);
  return resolved;
}

/**
 * Takes the batch as a sender would, so that neither its end nor the end of its email can come between the change of a
 * chunk and its report. Where this is interrupted, the claim ends and a sender finds what was decided. Undefined: a
 * sender has the batch.
 */
async function resend(batch: Batch, email: Email, deps: ResolveDeps): Promise<number | undefined> {
  const { batches, clock, limits, newId, chunks } = deps;
  const now = clock();
  if (batch.status === 'submitting' && (batch.claim_until ?? '') > now.toISOString()) return undefined;
  const claim = { claim_id: newId(), claim_until: isoAfter(now, limits.claim_ms) };
  const claimed = await batches.change(batch, { set: { status: 'submitting', ...claim }, remove: ['not_before'] });
  if (claimed === undefined) return undefined;
  await markOpen(batch.email_id, deps, limits.claim_ms);
  const resolved = await decide(claimed, 'resend', deps, () => {
    if (epochMs(claim.claim_until) - clock().getTime() > WRITE_MS) return;
    throw new Problem('unavailable', 'The decision took too long. Resolve the email again: nothing was sent twice.');
  });
  for (let held: Batch | undefined = claimed; held?.claim_id === claim.claim_id; ) {
    const counted = countChunks((await chunks.states(batch.email_id, batch.batch_id)).slice(0, batch.chunks));
    const open = email.status === 'failed' ? 'failed' : 'pending';
    const status = counted.counts.pending > 0 ? open : 'submitted';
    const freed = await batches.change(held, { set: { ...counted, status }, remove: ['claim_id', 'claim_until'] });
    held = freed === undefined ? await batches.read(batch.email_id, batch.batch_id) : undefined;
  }
  return resolved;
}

async function decide(
  { email_id, batch_id, chunks }: Batch,
  action: Resolution,
  deps: ResolveDeps,
  check: () => void,
): Promise<number> {
  let resolved = 0;
  const states = (await deps.chunks.states(email_id, batch_id)).slice(0, chunks);
  if (!states.some(isUncertain)) return 0;
  const { bits } = await deps.events.read(email_id, batch_id);
  for (const state of states.filter(isUncertain)) {
    const accepted = (n: number) => hasBit(bits.accepted, state.chunk * deps.limits.chunk_size + n);
    const known = await changeState(state, (found) => acceptUncertain(found, accepted), deps);
    let decided = 0;
    await changeState(
      known,
      (found) => {
        check();
        const next = resolveUncertain(found, action);
        decided = next === undefined ? 0 : differences(found, next);
        return next;
      },
      deps,
    );
    resolved += decided;
  }
  return resolved;
}

function isUncertain({ states }: ChunkState): boolean {
  return states.includes(RECIPIENT_STATES.uncertain);
}

/** Recipients whose state or reason differs. */
function differences(state: ChunkState, next: NextState): number {
  return [...state.states].filter((code, n) => code !== next.states[n] || state.reasons[n] !== next.reasons[n]).length;
}
