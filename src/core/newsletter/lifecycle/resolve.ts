import { Problem } from '../../intake/problem.ts';
import { acceptUncertain, type NextState, resolveUncertain } from '../accounting/chunk-changes.ts';
import { sentBatches } from '../accounting/counts.ts';
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
}

export interface Resolved {
  readonly email: Email;
  /** Uncertain recipients that were decided about. */
  readonly resolved: number;
}

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
  let resolved = 0;
  // Where this is interrupted, the clock finds the email and what was decided until then.
  if (action === 'resend') await markOpen(email_id, deps, deps.limits.message_ms);
  const open = sentBatches(await deps.batches.list(email_id)).filter(({ counts }) => counts.uncertain > 0);
  for (const batch of open) {
    // Before its recipients are, so that a sender finds what was decided.
    if (action === 'resend' && batch.status === 'submitted') {
      await deps.batches.change(batch, { set: { status: 'pending' }, remove: ['not_before'] });
    }
    resolved += await resolveBatch(batch, action, deps);
    await refreshBatch(email_id, batch.batch_id, deps);
  }
  if (action === 'resend') await reopen(email_id, deps);
  return { email: (await deps.emails.read(email_id)) ?? email, resolved };
}

async function resolveBatch({ email_id, batch_id, chunks }: Batch, action: Resolution, deps: ResolveDeps) {
  let resolved = 0;
  const states = (await deps.chunks.states(email_id, batch_id)).slice(0, chunks);
  if (!states.some(isUncertain)) return 0;
  const { bits } = await deps.events.read(email_id, batch_id);
  for (const state of states.filter(isUncertain)) {
    const place = (n: number) => state.chunk * deps.limits.chunk_size + n;
    const known = await changeState(
      state,
      (found) => acceptUncertain(found, (n) => hasBit(bits.accepted, place(n))),
      deps,
    );
    await changeState(
      known,
      (found) => {
        const next = resolveUncertain(found, action);
        resolved += next === undefined ? 0 : differences(found, next);
        return next;
      },
      deps,
    );
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

/** Changes a chunk, whatever others do to it at the same time; undefined from `change`: nothing to do. */
export async function changeState(
  state: ChunkState,
  change: (state: ChunkState) => NextState | undefined,
  { chunks }: { readonly chunks: Pick<ChunkStore, 'readState' | 'change'> },
): Promise<ChunkState> {
  let current = state;
  for (;;) {
    const next = change(current);
    if (next === undefined) return current;
    const changed = await chunks.change(current, next);
    if (changed !== undefined) return changed;
    const found = await chunks.readState(current);
    if (found === undefined) throw new Error(`Chunk ${current.chunk} of batch ${current.batch_id} has no state.`);
    current = found;
  }
}
