import type { NotificationRow } from '../model/notification.ts';
import { type ReceivedMessage, takenAt } from '../model/queue-message.ts';
import { epochMs } from '../model/time.ts';

/**
 * What a dead row remembers of the message that carries it to the DLQ. Attributes that a former letter had and this one
 * has not are set to empty: a statement removes one attribute at most.
 */
export function letterOf(row: NotificationRow, received: ReceivedMessage): Partial<NotificationRow> {
  const { message_id, receive_count, message } = received;
  const copied = message.enqueued_at ?? (row.dead_enqueued_at && '');
  const shared = receive_count > 1 ? takenAt(received) : row.dead_sent_at && '';
  return {
    dead_message_id: message_id,
    dead_run_id: message.run_id,
    ...(copied !== undefined && { dead_enqueued_at: copied }),
    ...(shared !== undefined && { dead_sent_at: shared }),
  };
}

/** What a message is to a dead row whose letter it is not itself. */
export type Kinship =
  /** An operator sent the letter again. */
  | 'redrive'
  /** It was sent in place of the letter, or of a copy of it: the letter is gone, or will be. */
  | 'copy'
  | 'none';

/**
 * An operator's redrive is a new message with the body of the letter, enqueued after the death; or a copy of one, which
 * says when that one was enqueued. Any other message of the same run is older than the death, whenever it was copied.
 *
 * SQS may deliver a message twice: one worker copies it and deletes it, while the notification dies by the other
 * delivery, and its letter is gone. The copy takes its place (docs/decisions/delivery/claims-and-messages.md#0178).
 */
export function kinship(row: NotificationRow, { message, sent_at }: ReceivedMessage): Kinship {
  const { run_id, enqueued_at } = message;
  if (run_id !== row.dead_run_id) return 'none';
  const died = epochMs(row.work_at ?? '');
  const isLetter = (enqueued_at ?? '') === (row.dead_enqueued_at ?? '');
  if (isLetter) return sent_at.getTime() > died ? 'redrive' : 'none';
  if (enqueued_at === undefined) return 'none';
  if (epochMs(enqueued_at) > died) return 'redrive';
  return row.dead_sent_at && epochMs(enqueued_at) >= epochMs(row.dead_sent_at) ? 'copy' : 'none';
}
