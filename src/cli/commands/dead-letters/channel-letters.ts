import type { HeldLetter } from '../../../adapters/sqs/dead-letters.ts';
import type { Channel } from '../../../core/model/channels.ts';
import { type DeadLetterView, deadLetterView } from '../../../core/operator/dead-letters/dead-letter.ts';
import type { Session } from '../../session/session.ts';

export interface ChannelLetter extends DeadLetterView {
  readonly channel: Channel;
}

/** Reads the row of each dead letter, to tell what a redrive would do with the letter. */
export function readChannelLetters(
  channel: Channel,
  letters: readonly HeldLetter[],
  session: Session,
): Promise<ChannelLetter[]> {
  const { rows, clock, deployment } = session;
  return Promise.all(
    letters.map(async (letter) => {
      const row = letter.message && (await rows.read(letter.message.log_id));
      return { channel, ...deadLetterView(letter, row, clock(), deployment.retry_policy) };
    }),
  );
}

/** `1 dead letter`, `2 dead letters`. */
export function letterCount(letters: number): string {
  return `${letters} dead letter${letters === 1 ? '' : 's'}`;
}
