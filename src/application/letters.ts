import { deleteLetters, type HeldLetter, peekLetters } from '../adapters/sqs/dead-letters.ts';
import { queueCounts } from '../adapters/sqs/lanes.ts';
import { type RedriveOptions, type RedriveResult, redriveByCopy, redriveByTask } from '../adapters/sqs/redrive.ts';
import { CHANNELS, type Channel } from '../core/model/channels.ts';
import { Problem } from '../core/model/problem.ts';
import { type Decision, decisionOf } from '../core/operator/audit.ts';
import { type DeadLetterView, deadLetterView, dropDeadLetter } from '../core/operator/dead-letters/dead-letter.ts';
import { remedyFor } from '../core/operator/views/notification-view.ts';
import { shellCommand } from './contract/choices.ts';
import type { OperatorDeps } from './deps.ts';
import { requireNotification } from './notifications.ts';

/** A message in a dead-letter queue, and what a redrive would do with it. */
export interface ChannelLetter extends DeadLetterView {
  readonly channel: Channel;
}

type LetterDeps = Pick<OperatorDeps, 'rows' | 'clock' | 'deployment' | 'sqs' | 'local'>;

/** The letters of a channel, up to the limit. SQS counts each look as a receive. */
export async function listLetters(channel: Channel, limit: number, deps: LetterDeps): Promise<ChannelLetter[]> {
  const found: ChannelLetter[] = [];
  for await (const letters of peekLetters(deps.sqs, deps.deployment.dead_letter_queues[channel])) {
    found.push(...(await viewsOf(channel, letters, deps)));
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}

/** The letters of a notification, and what to do before a redrive. @throws Problem not-found */
export async function lettersOf(log_id: string, deps: LetterDeps) {
  const row = await requireNotification(log_id, deps);
  const channel = CHANNELS.find((one) => one === row.channel);
  if (channel === undefined) {
    const channels = CHANNELS.join(', ');
    throw new Problem(
      'not-found',
      `${log_id} has no dead letter: its row is malformed, and names none of ${channels}.`,
    );
  }
  const dead_letters: ChannelLetter[] = [];
  for await (const page of peekLetters(deps.sqs, deps.deployment.dead_letter_queues[channel])) {
    const own = page.filter(({ message }) => message?.log_id === log_id);
    dead_letters.push(...(await viewsOf(channel, own, deps)));
  }
  if (dead_letters.length === 0) {
    throw new Problem(
      'not-found',
      `${log_id} has no dead letter in the queue of ${channel}: see where it stands with \`${shellCommand('show', deps.local, [], [log_id])}\`.`,
    );
  }
  return { dead_letters, remedy: remedyFor({ ...row }) };
}

function viewsOf(channel: Channel, letters: readonly HeldLetter[], deps: LetterDeps): Promise<ChannelLetter[]> {
  const { rows, clock, deployment } = deps;
  return Promise.all(
    letters.map(async (letter) => {
      const row = letter.message && (await rows.read(letter.message.log_id));
      return { channel, ...deadLetterView(letter, row, clock(), deployment.retry_policy) };
    }),
  );
}

/** Which letters are dropped: those of the notifications; or those of a channel, all or the useless ones. */
export interface LetterChoice {
  readonly channels: readonly Channel[];
  /** Empty: those of the channels. */
  readonly log_ids: readonly string[];
  /** Only the stale and the unreadable ones. */
  readonly stale: boolean;
}

/** The channels whose queues hold the letters of the notifications. @throws Problem not-found */
export async function channelsOf(
  log_ids: readonly string[],
  deps: Pick<OperatorDeps, 'rows' | 'local'>,
): Promise<Channel[]> {
  const rows = await Promise.all(log_ids.map((log_id) => requireNotification(log_id, deps)));
  return CHANNELS.filter((name) => rows.some(({ channel }) => channel === name));
}

/** Deletes letters. Their notifications keep rows and records, and are not dead any more. */
export function dropLetters(choice: LetterChoice, deps: LetterDeps): Decision<Dropped> {
  const { channels, log_ids, stale } = choice;
  return decisionOf(
    { what: 'dlq.drop', on: log_ids.length > 0 ? log_ids : channels, details: { channels, stale } },
    async () => {
      const answer = await drop(choice, deps);
      return { answer, result: { dropped: answer.dropped } };
    },
  );
}

interface Dropped {
  readonly dropped: number;
  readonly missing: readonly string[];
}

async function drop(choice: LetterChoice, deps: LetterDeps): Promise<Dropped> {
  let dropped = 0;
  const found = new Set<string>();
  for (const channel of choice.channels) {
    const url = deps.deployment.dead_letter_queues[channel];
    const gone = new Set<string>();
    for await (const letters of peekLetters(deps.sqs, url, gone)) {
      const over: HeldLetter[] = [];
      for (const letter of await chosenOf(channel, letters, choice, deps)) {
        if (await dropDeadLetter(letter, deps.rows, deps.clock())) over.push(letter);
        if (letter.message) found.add(letter.message.log_id);
      }
      await deleteLetters(deps.sqs, url, over);
      for (const { message_id } of over) gone.add(message_id);
      dropped += over.length;
    }
  }
  return { dropped, missing: choice.log_ids.filter((log_id) => !found.has(log_id)) };
}

async function chosenOf(
  channel: Channel,
  letters: readonly HeldLetter[],
  { log_ids, stale }: LetterChoice,
  deps: LetterDeps,
): Promise<readonly HeldLetter[]> {
  if (log_ids.length > 0) return letters.filter(({ message }) => message && log_ids.includes(message.log_id));
  if (!stale) return letters;
  const views = await viewsOf(channel, letters, deps);
  return letters.filter((_, i) => views[i]?.state !== 'redrive');
}

/** Messages in a channel's dead-letter queue, those included that somebody looks at. */
export async function countLetters(channel: Channel, { sqs, deployment }: LetterDeps): Promise<number> {
  const { visible, in_flight } = await queueCounts(sqs, deployment.dead_letter_queues[channel]);
  return visible + in_flight;
}

/**
 * Moves all letters of a channel back to their lanes: SQS itself does, or where it cannot, this process.
 * @param lock holds off other redrives of the channel by this machine, and returns what releases it
 */
export function redriveLetters(
  channel: Channel,
  { lock, ...options }: RedriveOptions & { readonly lock: () => () => void },
  deps: LetterDeps,
): Decision<RedriveResult> {
  const { sqs, deployment, local } = deps;
  const url = deployment.dead_letter_queues[channel];
  const details = options.rate !== undefined && { details: { rate: options.rate } };
  return decisionOf({ what: 'dlq.redrive', on: [channel], ...details }, async () => {
    const moved = local
      ? await underLock(lock, () => redriveByCopy(sqs, url, deployment.lane_queues, options))
      : await redriveByTask(sqs, url, options);
    return { answer: moved, result: { moved: moved.moved } };
  });
}

async function underLock<A>(lock: () => () => void, run: () => Promise<A>): Promise<A> {
  const unlock = lock();
  try {
    return await run();
  } finally {
    unlock();
  }
}
