import type { Channel, Lane, Priority } from './channels.ts';
import type { NotificationRow, RequestedBy, Trigger } from './notification.ts';
import { PRIORITY_POLICY } from './retry-policy.ts';
import { epochMs } from './time.ts';

/** SQS delays a message by at most this, in milliseconds. */
export const MAX_DELAY_MS = 15 * 60_000;

export interface RunOptions {
  /** Replaces the limit of retries; 0 or more. */
  readonly max_retry_count?: number;
  /** Ignores limit and deadline, and also takes dead notifications, for one attempt each. No rate and no quota gives way. */
  readonly force?: true;
  /** Somebody asked for this one notification: a breaker does not hold it. */
  readonly named?: true;
}

/** In a lane (a contract: add fields, never rename them): routing only, at most 1 KB, no content, no address. */
export interface QueueMessage {
  readonly version: 1;
  readonly log_id: string;
  readonly tenant_id: string;
  readonly channel: Channel;
  readonly priority: Priority;
  /** The row's work_at when the message was written; a message for another time is obsolete. */
  readonly due: string;
  readonly run_id: string;
  readonly options?: RunOptions;
  /** Absent: as the name of the run says (`originOf`). */
  readonly requested_by?: RequestedBy;
  /** Of a copy: when SQS took what it replaces (docs/decisions/delivery/claims-and-messages.md#0178). */
  readonly enqueued_at?: string;
  /** Of a copy: the slot that its receiver gave it. */
  readonly slot?: string;
}

export interface ReceivedMessage {
  readonly message: QueueMessage;
  readonly message_id: string;
  /** When SQS took the message; SQS keeps this time over redeliveries and the move to a DLQ. */
  readonly sent_at: Date;
  /** 1 for the first delivery. */
  readonly receive_count: number;
}

/** Marks `queued_for` of a row whose message is not delayed by SQS, or is queued later by a look ahead. */
const EXPECTED = '~';
/** Milliseconds within which an index follows its table: an older row is in the work index when a look ahead reads it. */
const FOLLOWS_WITHIN_MS = 5_000;

/**
 * What a row keeps of the message for `due`, written by whoever makes it due. A message that SQS can delay until then
 * is queued. Otherwise it is expected: the writer sends it now, or a look ahead queues it later. Only rows that express
 * runs take need that note (docs/decisions/delivery/sweep-and-backlog.md#0134).
 * A note of an earlier `due` is emptied: it has the time of day only, and could match this one on another day.
 */
export function queuedFor(
  due: string,
  { priority, queued_for }: { readonly priority: Priority; readonly queued_for?: string },
  now: Date,
): { readonly queued_for?: string } {
  const wait = epochMs(due) - now.getTime();
  if (wait > 0 && wait <= MAX_DELAY_MS) return { queued_for: timeOfDay(due) };
  const isSeen = wait <= 0 || wait > MAX_DELAY_MS + FOLLOWS_WITHIN_MS;
  if (isSeen && PRIORITY_POLICY[priority].lane === 'express') return { queued_for: expectedAt(due) };
  return queued_for ? { queued_for: '' } : {};
}

type Noted = { readonly queued_for?: string; readonly work_at: string };

/** Whether a message for the row's `work_at` is queued already. */
export const isQueued = ({ queued_for, work_at }: Noted): boolean => queued_for === timeOfDay(work_at);

/** Whether the row's writer has sent a message for its `work_at`, or left that to a look ahead. */
export const isExpected = ({ queued_for, work_at }: Noted): boolean => queued_for === expectedAt(work_at);

/** The time of day is enough, and short: the row must stay below one kilobyte. */
const timeOfDay = (iso: string): string => iso.slice(11, 19);

/** `~HHMMSS`, no longer than the time of a message that is queued. */
const expectedAt = (iso: string): string => EXPECTED + timeOfDay(iso).replaceAll(':', '');

/** A run is named after what started it, so that a retry record shows whether a sweep or an operator did. */
export const newRunId = (trigger: 'sweep' | 'manual' | 'intake', id: string): string => `${trigger}-${id}`;

/** Between a run's id and a token. */
const TOKEN = '#';
/** Longest id of a run that fits into a message with a token: an id has at most 100 characters. */
const RUN_LENGTH = 90;

/**
 * The run of a message that the same run sends beside another one. A redrive is recognised by the run of the message
 * that died (docs/decisions/delivery/dead-letters-and-redrive.md), so no other message may have exactly that one.
 * @param token at most 9 characters, different for each message
 */
export function withToken(run_id: string, token: string): string {
  return `${runOf(run_id).slice(0, RUN_LENGTH)}${TOKEN}${token}`;
}

/** 31 bits: enough to tell the messages and claims of one row apart, and short, as the row must stay below a kilobyte. */
const TOKENS = 36 ** 6;

/** @param random draws from [0, 1), like Math.random */
export function randomToken(random: () => number): string {
  return Math.floor(random() * TOKENS)
    .toString(36)
    .padStart(6, '0');
}

/**
 * The message that is sent in place of another one, which can be deleted then: a message that only becomes visible again
 * would use up its receives. It keeps the run, because the one that it replaces may be an operator's redrive, and says
 * when SQS took that one, because it may be obsolete (docs/decisions/delivery/claims-and-messages.md#0178).
 */
export function copyOf(received: ReceivedMessage, slot?: string): QueueMessage {
  const { slot: _, ...message } = received.message;
  return { ...message, enqueued_at: takenAt(received), ...(slot !== undefined && { slot }) };
}

/** When SQS took the message; of a copy always later than `enqueued_at`, so that the copies of a message all differ. */
export function takenAt({ message: { enqueued_at }, sent_at }: ReceivedMessage): string {
  const before = enqueued_at === undefined ? Number.NEGATIVE_INFINITY : epochMs(enqueued_at);
  return new Date(Math.max(sent_at.getTime(), before + 1)).toISOString();
}

/** The run that started a message's attempt, which records and logs name. */
export function runOf(run_id: string): string {
  const end = run_id.indexOf(TOKEN);
  return end < 0 ? run_id : run_id.slice(0, end);
}

export interface Origin {
  readonly trigger: Trigger;
  readonly requested_by: RequestedBy;
}

export function originOf({ run_id, requested_by }: Pick<QueueMessage, 'run_id' | 'requested_by'>): Origin {
  const by = requested_by ?? (isManual(run_id) ? 'operator' : 'schedule');
  return { trigger: by === 'schedule' ? 'sweep' : 'manual', requested_by: by };
}

/** A run that a person started: an operator, a user, or the job by hand. */
export const isManual = (run_id: string): boolean => run_id.startsWith('manual-');

export type Routing = Pick<NotificationRow, 'log_id' | 'tenant_id' | 'channel' | 'priority'>;

export function messageFor(
  { log_id, tenant_id, channel, priority }: Routing,
  due: string,
  run_id: string,
  { options, requested_by }: { readonly [K in 'options' | 'requested_by']?: QueueMessage[K] | undefined } = {},
): QueueMessage {
  const asked = { ...(options && { options }), ...(requested_by && { requested_by }) };
  return { version: 1, log_id, tenant_id, channel, priority, due, run_id, ...asked };
}

/** The message for the lane of what is due then; undefined where SQS cannot delay it so long: a sweep sends it. */
export function queuedUntil(message: QueueMessage, now: Date): QueuedMessage | undefined {
  const delay_seconds = Math.max(0, Math.ceil((epochMs(message.due) - now.getTime()) / 1000));
  return delay_seconds * 1000 > MAX_DELAY_MS ? undefined : { message, delay_seconds };
}

/** The message after an attempt of the run. @param asked who asked for that one, and how, unless it was made */
export function followUp(
  row: Routing,
  due: string,
  run_id: string,
  {
    requested_by = 'schedule',
    options,
  }: { readonly [K in 'options' | 'requested_by']?: QueueMessage[K] | undefined } = {},
): QueueMessage {
  const by = originOf({ run_id }).requested_by === requested_by ? {} : { requested_by };
  return messageFor(row, due, run_id, { ...by, options });
}

export interface QueuedMessage {
  readonly message: QueueMessage;
  /** 0…900 */
  readonly delay_seconds: number;
}

export interface SweepLanes {
  /** Approximate number of messages that wait to be received. */
  backlog(channel: Channel, lane: Lane): Promise<number>;
  /** Sends the messages in batches. @returns those that could not be sent */
  send(messages: readonly QueuedMessage[]): Promise<QueuedMessage[]>;
}
