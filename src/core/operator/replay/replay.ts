import type { RowStore } from '../../delivery/ports.ts';
import { asNotification, type ForeignRow } from '../../model/foreign-row.ts';
import type { QueuedMessage } from '../../model/lanes.ts';
import { messageFor } from '../../model/queue-message.ts';
import type { RetryPolicy } from '../../model/retry-policy.ts';
import type { Clock } from '../../model/time.ts';
import { revival } from '../revival.ts';
import { type NotificationView, viewOf } from '../views/notification-view.ts';
import { type Exclusion, exclusionOf, type Selection } from './replay-exclusions.ts';

export interface ReplayRequest extends Selection {
  readonly dry_run: boolean;
  /** Send at most this many, including those of an earlier, interrupted run. */
  readonly limit?: number;
  /** Upper bound of how many an earlier, interrupted run sent. */
  readonly sent_before?: number;
  /** Send at most so many per second. */
  readonly rate: number;
}

export interface ReplayDeps {
  readonly rows: RowStore;
  /** Returns the messages that could not be sent. */
  readonly send: (messages: readonly QueuedMessage[]) => Promise<readonly QueuedMessage[]>;
  readonly policy: RetryPolicy;
  readonly clock: Clock;
  readonly pause: (ms: number) => Promise<void>;
  readonly onProgress?: (tally: ReplayTally) => void;
  /** Called before each chunk is sent, with the number that will have been sent by all runs together. */
  readonly onSending?: (sent: number) => void;
}

export interface ReplayTally {
  readonly matched: number;
  readonly excluded: Readonly<Partial<Record<Exclusion, number>>>;
  /** How many are sent, or would be. */
  readonly to_send: number;
  /** How many of these the sweep has to queue, because SQS did not take their messages. */
  readonly left_to_sweep: number;
  /** The first few that are sent. */
  readonly sample: readonly NotificationView[];
}

/** Rows that are changed concurrently. The rate is kept by a pause after each chunk. */
const CHUNK = 25;
const SAMPLE = 5;

/**
 * Sends notifications again that were given up, as an operator's redrive does: retry budget and window start anew. A
 * dry run reads the same rows and makes the same decisions but writes nothing, so it counts what the replay would send.
 *
 * Each notification is revived by one conditional write, which also stores the replay's id in the row. Its message is
 * sent after that. A replay that is killed at any point loses nothing: revived notifications are due, and the others
 * are unchanged. Started again under the same id, it repeats nothing: a notification that is due or delivered is no
 * longer given up, and one that was given up again has the replay's id.
 *
 * @param candidates notifications that were given up, each once. They are read page by page, so memory is bounded.
 */
export async function replay(
  candidates: AsyncIterable<ForeignRow>,
  request: ReplayRequest,
  deps: ReplayDeps,
): Promise<ReplayTally> {
  const counts = new Counts();
  const begun = deps.clock().getTime();
  const before = request.sent_before ?? 0;
  let chunk: ForeignRow[] = [];
  const flush = async () => {
    const rows = chunk;
    chunk = [];
    if (!request.dry_run && rows.length > 0) {
      deps.onSending?.(before + counts.toSend + rows.length);
      await sendAgain(rows, request, deps, counts);
      const early = begun + (counts.toSend / request.rate) * 1000 - deps.clock().getTime();
      if (early > 0) await deps.pause(early);
    }
    deps.onProgress?.(counts.tally());
  };
  for await (const row of candidates) {
    counts.matched += 1;
    const excluded = exclusionOf(row, request, deps.clock());
    if (excluded !== undefined) counts.exclude(excluded);
    else if (before + counts.toSend + chunk.length >= (request.limit ?? Number.POSITIVE_INFINITY)) {
      counts.exclude('beyond_limit');
    } else if (request.dry_run) counts.take(row, deps.clock());
    else if (chunk.push(row) >= Math.min(CHUNK, Math.ceil(request.rate))) await flush();
    if (request.dry_run && counts.matched % CHUNK === 0) deps.onProgress?.(counts.tally());
  }
  await flush();
  return counts.tally();
}

async function sendAgain(
  rows: readonly ForeignRow[],
  request: ReplayRequest,
  deps: ReplayDeps,
  counts: Counts,
): Promise<void> {
  const now = deps.clock();
  const revived = await Promise.all(rows.map((row) => revive(row, request, deps, now)));
  const outgoing: QueuedMessage[] = [];
  revived.forEach((excluded, i) => {
    const row = rows[i];
    if (excluded !== undefined) counts.exclude(excluded);
    else if (row !== undefined) {
      counts.take(row, now);
      const message = messageFor(asNotification(row), now.toISOString(), `manual-${request.replay_id}`);
      outgoing.push({ message, delay_seconds: 0 });
    }
  });
  if (outgoing.length > 0) counts.leftToSweep += (await deps.send(outgoing)).length;
}

/** Undefined when the row was revived. Otherwise another process was faster, and the result says what it left. */
async function revive(
  row: ForeignRow,
  request: ReplayRequest,
  { rows, policy, clock }: ReplayDeps,
  now: Date,
): Promise<Exclusion | undefined> {
  const notification = asNotification(row);
  if (await rows.change(notification, revival(notification, now, policy, request.replay_id))) return undefined;
  const changed = await rows.read(notification.log_id);
  return (changed && exclusionOf({ ...changed }, request, clock())) ?? 'retrying';
}

class Counts {
  matched = 0;
  toSend = 0;
  leftToSweep = 0;
  readonly #excluded: Partial<Record<Exclusion, number>> = {};
  readonly #sample: NotificationView[] = [];

  exclude(reason: Exclusion): void {
    this.#excluded[reason] = (this.#excluded[reason] ?? 0) + 1;
  }

  take(row: ForeignRow, now: Date): void {
    this.toSend += 1;
    if (this.#sample.length < SAMPLE) this.#sample.push(viewOf(row, now));
  }

  tally(): ReplayTally {
    return {
      matched: this.matched,
      excluded: { ...this.#excluded },
      to_send: this.toSend,
      left_to_sweep: this.leftToSweep,
      sample: this.#sample,
    };
  }
}
