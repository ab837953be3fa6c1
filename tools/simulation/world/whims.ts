import { textOf } from '../audit/promises.ts';
import type { Ground } from './ground.ts';
import type { Limit } from './state.ts';

export type Begin = (limit: Limit, label: string, run: () => unknown, faults?: number) => void;
export type Add = (kind: string, label: string, run: () => unknown, faults?: number) => void;

/** What SQS may do with a message: show it again, or lose it. */
export function whims(ground: Ground, add: Add, begin: Begin): void {
  const { queue, now, left } = ground.state;
  for (const { id, visible_at, receives, message } of queue) {
    if (receives > 0 && visible_at > now && (left['workers'] ?? 0) > 0)
      add('again', `SQS shows ${id} again`, () => ground.updateMessage(id, { visible_at: now }), 1);
    // A letter has to come back: that of what is dead, and a copy, which is one once the attempt under way fails.
    const { work_queue, send_status } = ground.tables.log.get(message.log_id) ?? {};
    const mayBeLetter = textOf(work_queue).startsWith('dead') || send_status === 'SENDING' || 'enqueued_at' in message;
    if (receives === 0 && !mayBeLetter) begin('losses', `SQS loses ${id}`, () => ground.drop(id), 1);
  }
}
