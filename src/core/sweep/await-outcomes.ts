import type { NotificationRow } from '../model/notification.ts';
import { ExplainedError } from '../model/problem.ts';
import type { QueueMessage } from '../model/queue-message.ts';
import { whenAborted } from '../model/time.ts';

/** Number of notifications of a run by final status; UNSETTLED counts those without one when waiting ended. */
export type Outcomes = Readonly<Record<string, number>>;

export interface AwaitOutcomesDeps {
  /** A read that fails, for instance because storage throttles, is repeated in the next round. */
  readonly read: (log_id: string) => Promise<NotificationRow | undefined>;
  readonly pause: (ms: number) => Promise<void>;
  readonly now: () => number;
  /** Milliseconds after which waiting ends without a new outcome, or without a successful read. */
  readonly patience_ms: number;
  readonly onProgress?: (outcomes: Outcomes, open: number) => void;
  /** Ends the waiting; notifications that are open then are UNSETTLED. */
  readonly signal?: AbortSignal;
}

/** No read of storage worked for `patience_ms`. `outcomes` holds what was known by then. */
export class OutcomesUnreadableError extends ExplainedError {
  override readonly name = 'OutcomesUnreadableError';
  readonly outcomes: Outcomes;

  constructor(outcomes: Outcomes, patience_ms: number, cause: unknown) {
    const reason = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
    super(`no outcome could be read for ${Math.round(patience_ms / 1000)} s, the last time because of ${reason}`, {
      cause,
    });
    this.outcomes = outcomes;
  }
}

/** Longer than a message stays invisible after its worker crashed, so that its second delivery is waited for, too. */
export const OUTCOME_PATIENCE_MS = 7 * 60_000;

const SHORTEST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Waits until each dispatched notification has an outcome of the attempt that its message asked for: delivered, to be
 * retried, given up, or deleted.
 * @throws OutcomesUnreadableError
 */
export async function awaitOutcomes(messages: readonly QueueMessage[], deps: AwaitOutcomesDeps): Promise<Outcomes> {
  const { now, patience_ms, signal } = deps;
  const aborted = whenAborted(signal);
  const outcomes: Record<string, number> = {};
  let open = [...messages];
  let pause_ms = SHORTEST_PAUSE_MS;
  let lastNews = now();
  let lastRead = lastNews;
  while (open.length > 0 && !signal?.aborted) {
    const reads = await Promise.race([Promise.allSettled(open.map(({ log_id }) => deps.read(log_id))), aborted]);
    if (reads === undefined) break;
    const still = open.filter((message, i) => {
      const read = reads[i];
      const status = read?.status === 'fulfilled' ? outcomeOf(read.value, message) : undefined;
      if (status !== undefined) outcomes[status] = (outcomes[status] ?? 0) + 1;
      return status === undefined;
    });
    const news = still.length < open.length;
    open = still;
    deps.onProgress?.(outcomes, open.length);
    if (news) lastNews = now();
    if (reads.some(({ status }) => status === 'fulfilled')) {
      lastRead = now();
      // Checked only after a successful read: an outcome that was settled while no read worked is new as well.
      if (lastRead - lastNews >= patience_ms) break;
    } else if (now() - lastRead >= patience_ms) {
      const [read] = reads;
      const reason: unknown = read?.status === 'rejected' ? read.reason : undefined;
      throw new OutcomesUnreadableError(withUnsettled(outcomes, open.length), patience_ms, reason);
    }
    if (open.length === 0) break;
    pause_ms = news ? SHORTEST_PAUSE_MS : Math.min(pause_ms * 1.5, LONGEST_PAUSE_MS);
    await Promise.race([deps.pause(pause_ms), aborted]);
  }
  return withUnsettled(outcomes, open.length);
}

function withUnsettled(outcomes: Outcomes, open: number): Outcomes {
  return open === 0 ? outcomes : { ...outcomes, UNSETTLED: open };
}

/** The row's status, once the attempt that the message asked for is over. */
function outcomeOf(row: NotificationRow | undefined, message: QueueMessage): string | undefined {
  if (row === undefined) return 'DELETED';
  if (row.send_status === 'SENDING') return undefined;
  const untouched = row.work_queue !== undefined && row.work_at === message.due;
  return untouched ? undefined : row.send_status;
}
