import type { HeldLetter } from '../../../adapters/sqs/dead-letters.ts';
import type { Channel } from '../../../core/model/channels.ts';
import { type DeadLetterView, deadLetterView } from '../../../core/operator/dead-letters/dead-letter.ts';
import type { Session } from '../../session/session.ts';

export interface ChannelLetter extends DeadLetterView {
  readonly channel: Channel;
}

/** Dead letters beside the rows they belong to: what each is, and what a redrive would do for it. */
export function withRows(channel: Channel, letters: readonly HeldLetter[], session: Session): Promise<ChannelLetter[]> {
  const { rows, clock, deployment } = session;
  return Promise.all(
    letters.map(async (letter) => {
      const row = letter.message && (await rows.read(letter.message.log_id));
      return { channel, ...deadLetterView(letter, row, clock(), deployment.retry_policy) };
    }),
  );
}

/** `1 dead letter`, `2 dead letters`. */
export function countOf(letters: number): string {
  return `${letters} dead letter${letters === 1 ? '' : 's'}`;
}
