import type { Stored } from './memory.ts';
import { isIntruder, textOf } from './promises.ts';

/** What the bus tells, as a producer reads it. */
interface Told {
  readonly kind: string;
  readonly detail: { readonly event_id: string; readonly failure_reason?: string };
}

/** A producer that listens: it handles each `event_id` once, and goes by the last word about each notification. */
export interface Consumer {
  readonly handled: readonly string[];
  readonly words: Readonly<Record<string, string>>;
  /** Each kind that it was told. */
  readonly kinds: readonly string[];
}

export const NOTHING_TOLD: Consumer = { handled: [], words: {}, kinds: [] };

const BOUNCED = 'Notification Bounced';

/** An image of a row is told. @param told what of it comes from the bus */
export function heard(
  consumer: Consumer,
  row: Stored,
  told: readonly Told[],
): { readonly consumer: Consumer; readonly violations: readonly string[] } {
  if (isIntruder(row) || (told.length === 0 && endOf(row) === undefined)) return { consumer, violations: [] };
  const log_id = String(row['log_id']);
  let { handled, words, kinds } = consumer;
  for (const { kind, detail } of told) {
    if (!kinds.includes(kind)) kinds = [...kinds, kind].sort();
    if (handled.includes(detail.event_id)) continue;
    handled = [...handled, detail.event_id].sort();
    words = { ...words, [log_id]: wordOf(kind, detail.failure_reason) };
  }
  const violations: string[] = [];
  const ends = told.map(({ kind }) => kind).filter((kind) => kind !== BOUNCED);
  const end = endOf(row);
  if (ends.join() !== (end ?? ''))
    violations.push(`16: told ${ends.join() || 'nothing'} of a row that is ${stateOf(row)}`);
  const right = end && wordOf(end, row['failure_reason']);
  if (right !== undefined && words[log_id] !== right)
    violations.push(`16: the last word is ${words[log_id]}, and the row is ${stateOf(row)}`);
  return { consumer: { handled, words, kinds }, violations };
}

const wordOf = (kind: string, failure_reason: unknown): string =>
  kind === 'Notification Given Up' ? `${kind}: ${failure_reason}` : kind;

const stateOf = ({ send_status, failure_reason = '' }: Stored): string => `${send_status} ${failure_reason}`.trim();

/**
 * How a row stands by the words of the table document, and by nothing of the code: SUCCESS is delivered, FAILED with a
 * reason and without further work is given up.
 */
export function endOf(row: Stored): string | undefined {
  const { send_status, failure_reason, work_queue, work_at, updated_by } = row;
  if (send_status === 'SUCCESS') return 'Notification Delivered';
  // Its writer has changed what was set aside: the indexer judges it anew.
  if (work_queue === undefined && work_at === undefined && updated_by !== 'notification-retry') return undefined;
  const waits = textOf(work_queue).startsWith('due#');
  return send_status === 'FAILED' && failure_reason !== undefined && !waits ? 'Notification Given Up' : undefined;
}
