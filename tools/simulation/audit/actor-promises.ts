import type { Stored } from './memory.ts';
import { textOf } from './promises.ts';

/** What an actor did, with its effect. */
interface Deed {
  readonly by: string;
  readonly port: string;
  readonly args: readonly unknown[];
  /** Whether a table or a queue is another one since. */
  readonly changed: boolean;
  /** Pages of the work index that it had read before. */
  readonly pages?: number;
}

/** A sweep of a small world walks its index three times at most, though its lanes stay full: each page is paid for. */
const MOST_PAGES = 30;

/** A message of which no attempt can come when it is received: it carries what is dead to the dead-letter queue. */
export function isLetter(row: Stored | undefined, id: string): boolean {
  return textOf(row?.['work_queue']).startsWith('dead') && row?.['dead_message_id'] === id;
}

/** @param sendable messages of the actor's batch that may lead to an attempt */
export function acted({ by, port, args, changed, pages = 0 }: Deed, sendable: number): readonly string[] {
  const violations: string[] = [];
  if (by.startsWith('dry') && (changed || /^log\.record/.test(port))) violations.push('10: a dry run wrote or sent');
  if (port === 'budget.reserve' && (args[0] as { readonly count: number }).count > sendable)
    violations.push('12: a slot was reserved for a message that may not use it');
  if (port === 'index.page' && pages >= MOST_PAGES) violations.push('13: a sweep walks the index in vain');
  if (port === 'lanes.send' && !isInOrder(args[0] as readonly Queued[]))
    violations.push('8: queued before one that is more urgent');
  return violations;
}

interface Queued {
  readonly message: { readonly priority: string };
}

const RANKS = ['urgent', 'important', 'normal', 'info'];

function isInOrder(messages: readonly Queued[]): boolean {
  const ranks = messages.map(({ message }) => RANKS.indexOf(message.priority));
  return ranks.every((rank, i) => i === 0 || rank >= (ranks[i - 1] ?? 0));
}
