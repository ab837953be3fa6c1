import type { NotificationRow } from './notification.ts';
import type { QueueMessage } from './queue-message.ts';

/** Final statuses of a run's notifications, counted; UNSETTLED are those that had none when waiting ended. */
export type Outcomes = Readonly<Record<string, number>>;

export interface AwaitOutcomesDeps {
  readonly read: (log_id: string) => Promise<NotificationRow | undefined>;
  readonly pause: (ms: number) => Promise<void>;
  readonly now: () => number;
  /** Milliseconds without any news after which waiting ends. */
  readonly patience_ms: number;
  readonly onProgress?: (outcomes: Outcomes, open: number) => void;
}

const SHORTEST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Waits until each dispatched notification has the outcome of the attempt that its message asked for: delivered, to be
 * retried, given up, or gone.
 */
export async function awaitOutcomes(messages: readonly QueueMessage[], deps: AwaitOutcomesDeps): Promise<Outcomes> {
  const outcomes: Record<string, number> = {};
  let open = [...messages];
  let pause_ms = SHORTEST_PAUSE_MS;
  let lastNews = deps.now();
  while (open.length > 0 && deps.now() - lastNews < deps.patience_ms) {
    const rows = await Promise.all(open.map(({ log_id }) => deps.read(log_id)));
    const still: QueueMessage[] = [];
    open.forEach((message, i) => {
      const status = outcomeOf(rows[i], message);
      if (status === undefined) still.push(message);
      else outcomes[status] = (outcomes[status] ?? 0) + 1;
    });
    const news = still.length < open.length;
    open = still;
    deps.onProgress?.(outcomes, open.length);
    if (open.length === 0) break;
    if (news) lastNews = deps.now();
    pause_ms = news ? SHORTEST_PAUSE_MS : Math.min(pause_ms * 1.5, LONGEST_PAUSE_MS);
    await deps.pause(pause_ms);
  }
  return open.length === 0 ? outcomes : { ...outcomes, UNSETTLED: open.length };
}

/** The row's status once it has moved on from what the message asked for. */
function outcomeOf(row: NotificationRow | undefined, message: QueueMessage): string | undefined {
  if (row === undefined) return 'DELETED';
  if (row.send_status === 'SENDING') return undefined;
  const untouched = row.work_queue !== undefined && row.work_at === message.due;
  return untouched ? undefined : row.send_status;
}
