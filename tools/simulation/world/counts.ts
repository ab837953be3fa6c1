import { CHANNELS, type Channel, type Lane } from '../../../src/core/model/channels.ts';
import { PRIORITY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { hasContentInTheClear, isLeftToItsWriter } from '../../../src/core/verify/rules/row-rules.ts';
import type { Stored } from '../audit/memory.ts';
import type { LetterCounts, Message, State } from './state.ts';

/** What a lane holds that can be received. */
export function messagesIn({ now, queue }: State, channel: Channel, lane: Lane): number {
  const isIn = ({ message, visible_at }: Message) =>
    visible_at <= now && message.channel === channel && PRIORITY_POLICY[message.priority].lane === lane;
  return queue.filter(isIn).length;
}

/** By channel, as SQS counts them: in the DLQ, and in the lanes. */
export function lettersOf({ letters, queue }: State): LetterCounts {
  const countIn = (messages: readonly Message[], channel: Channel) =>
    messages.filter(({ message }) => message.channel === channel).length;
  return Object.fromEntries(
    CHANNELS.map((channel) => {
      const counts = { letters: countIn(letters, channel), on_the_way: countIn(queue, channel) };
      return [channel, counts];
    }),
  );
}

/** Whether verify may say so of the row: its content or records are lost for good, or the indexer takes content away. */
export const isKnown = (rule: string, row: Stored, state: State): boolean =>
  rule === '14' ? !isLeftInTheClear(row, state) : OF_LOST.includes(rule) && isAlone(state, row);

const OF_LOST = ['1', '6'];

const isAlone = ({ alone = [] }: State, { log_id }: Stored): boolean => alone.includes(String(log_id));

/** No image of the stream is left by which the indexer would take the row's content away. */
function isLeftInTheClear(row: Stored, { stream }: State): boolean {
  if (stream.some((image) => image.row['log_id'] === row['log_id'])) return false;
  return row['send_status'] !== 'SENDING' && hasContentInTheClear(row) && !isLeftToItsWriter(row);
}
