import * as times from '../../../src/core/delivery/policy/attempt-times.ts';
import type { DeliveryEvent } from '../../../src/core/delivery-events/delivery-event.ts';
import type { NotificationRow, RetryRecord } from '../../../src/core/model/notification.ts';
import { type QueuedMessage, type QueueMessage, withToken } from '../../../src/core/model/queue-message.ts';
import type { Call, Outcome } from './actor.ts';

/** How a call may end, as data. */

const READS =
  /^(rows|eventRows|operatorRows|forgetRows|corrections)\.read$|^(records|intake)\.find|^contents\.read$|^index\.page$|^breakers\.(list|first|read)$|^log\.last|^lanes\.backlog$|^(indexing|reports)\.(has|read)|^audit\.|^operations\.read$|^candidates\.|^restore(Copies|Deployed|Either|Other)\./;
/** Ours, Lambda's, or a port that never rejects: it ends well, or its actor dies. */
const SURE = /^(queue|event|time|instance|budget|stream|producer|operator)\./;
/** Touches nothing that another actor may change: no order of it with their calls matters. */
const INVISIBLE = /^contents\.read$|^budget\.reserve$/;
/** A pause so short that no other event's time falls into it. */
const SHORT_MS = 1_000;

export const isSend = ({ port }: Call) => port === 'provider.send';

/** How a call ends. `unanswered`: it may be applied later, or never; its caller goes on, or dies meanwhile. */
export type Ending =
  | 'ok'
  | 'postponed'
  | 'stale'
  | 'refused'
  | 'hangs'
  | 'unanswered'
  | 'repeated'
  | 'dies before'
  | 'dies during';

export interface EndingTerms {
  /** Of the calls that its actor waits for. */
  readonly first: boolean;
  readonly postpones: boolean;
  /** The work index may be behind its table. */
  readonly stale: boolean;
  readonly hangs: boolean;
  /** Its effect kills its actor. */
  readonly kills: boolean;
  /** Its service is broken. */
  readonly broken?: 'hangs' | 'refused' | undefined;
}

export function endingsOf(call: Call, { first, postpones, stale, hangs, broken, kills }: EndingTerms): Ending[] {
  const { port } = call;
  const sure = SURE.test(port);
  const writes = !sure && !READS.test(port);
  if (kills) return ['dies during'];
  if (broken !== undefined) return first && !isInvisible(call) ? [broken, 'dies before'] : [broken];
  return [
    'ok',
    ...(port === 'budget.reserve' && postpones ? (['postponed'] as const) : []),
    ...(port === 'index.page' && stale ? (['stale'] as const) : []),
    ...(!sure || port === 'queue.giveBack' ? (['refused'] as const) : []),
    // One that dies right after a call makes no use of its answer: the next call stands for that, too.
    ...(first && !isInvisible(call) ? (['dies before'] as const) : []),
    ...(hangs ? (['hangs'] as const) : []),
    ...(writes ? (['unanswered', 'dies during'] as const) : []),
    ...(writes && !isSend(call) && inAnotherRound(call) ? (['repeated'] as const) : []),
  ];
}

/**
 * The call as it is repeated when its answer was lost: by the client as it is, but messages by their sender, as others
 * (src/adapters/sqs/lanes.ts). Undefined for a copy, which is not sent again.
 */
export function inAnotherRound(call: Call, round = 0): Call | undefined {
  const { port, args } = call;
  const again = (message: QueueMessage) => ({ ...message, run_id: withToken(message.run_id, `round${round}`) });
  if (port === 'retries.send') {
    const [message, delay_seconds] = args as [QueueMessage, number];
    return message.enqueued_at === undefined ? { ...call, args: [again(message), delay_seconds] } : undefined;
  }
  if (port !== 'lanes.send') return call;
  return { ...call, args: [(args[0] as QueuedMessage[]).map((one) => ({ ...one, message: again(one.message) }))] };
}

export const isFault = (ending: Ending): boolean => ending !== 'ok' && ending !== 'postponed';

/** A budget that grants nothing for half a minute. */
export function postponementOf({ args: [ask] }: Call, now: number): Outcome {
  const waits = Array((ask as { readonly count: number }).count).fill(now + 30_000);
  return { ok: { slots: [], waits, why: 'rate' } };
}

/** Milliseconds until a call is given up, as deployed. */
const LIMITS: readonly (readonly [port: string, ms: number])[] = [
  ['budget.', times.RESERVE_MS + times.STATE_CALL_MS],
  ['breakers.', times.STATE_CALL_MS],
  ['records.', times.RECORD_CALL_MS],
  ['retries.', times.QUEUE_CALL_MS],
  ['contents.', times.CONTENT_CALL_MS],
  ['provider.', times.SEND_MS],
];

export function limitOf({ port }: Call): number {
  return LIMITS.find(([beginning]) => port.startsWith(beginning))?.[1] ?? times.TABLE_CALL_MS;
}

/** When a pause is over; undefined for any other call. */
export function pauseEnd({ port, args: [ms] }: Call, since: number): number | undefined {
  if (port !== 'time.pause') return undefined;
  return since + (Number(ms) <= SHORT_MS ? 0 : Number(ms));
}

export const isInvisible = (call: Call): boolean => INVISIBLE.test(call.port) || call.port === 'time.pause';

const throttled: Outcome = { error: Object.assign(new Error('slow down'), { name: 'ThrottlingException' }) };
const timedOut: Outcome = { error: Object.assign(new Error('no answer'), { name: 'TimeoutError' }) };
const unanswered: Outcome = { ok: { ok: false, error_type: 'NETWORK_TIMEOUT', message: 'no answer' } };

/** What the caller is told of a call that was refused, and of one that nobody answered. */
export function refusalOf(call: Call): Outcome {
  if (isSend(call)) return unanswered;
  if (call.port === 'lanes.send') return { ok: 'refused' };
  // Setting the visibility never rejects: it tells how many come back late.
  if (call.port === 'queue.giveBack') return { ok: (call.args[0] as unknown[]).length };
  return throttled;
}

export function silenceOf(call: Call, now: number): Outcome {
  // Without an answer the budget is used alone.
  if (call.port === 'budget.reserve') return { ok: grantOf(call.args[0], now) };
  return isSend(call) ? unanswered : timedOut;
}

/** Slots for all that ask. */
export function grantOf(ask: unknown, now: number) {
  return { slots: Array((ask as { readonly count: number }).count).fill(now), waits: [] };
}

/** Errors that the world injects, and what becomes of them; any other one is a defect. */
export const INJECTED = /Throttling|Timeout|kept changing|The request could not/;

const rowOf = ([row]: readonly unknown[]) => (row as NotificationRow).log_id;
const stateOf = (change: unknown) => {
  const { send_status, work_at } = ((change as { set?: Partial<NotificationRow> })?.set ??
    {}) as Partial<NotificationRow>;
  return send_status === undefined ? '' : ` as ${send_status}${work_at ? ` for ${work_at.slice(11, 19)}` : ''}`;
};
const recordOf = ([record]: readonly unknown[]) => {
  const { original_log_id, retry_attempt, retry_status } = record as RetryRecord;
  return `the record of attempt ${retry_attempt} of ${original_log_id}: ${retry_status}`;
};

/** What an actor does by a call, in words. */
const WORDS: Readonly<Record<string, (args: readonly unknown[]) => string>> = {
  'rows.claim': (args) => `claims ${rowOf(args)}`,
  'rows.read': ([log_id]) => `reads ${log_id}`,
  'rows.change': (args) => `changes ${rowOf(args)}${stateOf(args[1])}`,
  'rows.settle': (args) => `settles ${rowOf(args)}${stateOf(args[1])}`,
  'eventRows.read': ([log_id]) => `reads ${log_id}`,
  'eventRows.change': (args) => `changes ${rowOf(args)}${stateOf(args[1])}`,
  'operatorRows.read': ([log_id]) => `reads ${log_id}`,
  'operatorRows.change': (args) => `changes ${rowOf(args)}${stateOf(args[1])}`,
  'corrections.read': ([log_id]) => `reads ${log_id}`,
  'corrections.correct': (args) => `corrects ${rowOf(args)}`,
  'records.replace': (args) => `replaces ${recordOf(args)}`,
  'records.putIfAbsent': (args) => `writes, if there is none, ${recordOf(args)}`,
  'records.find': ([log_id, attempt]) => `looks for the record of attempt ${attempt} of ${log_id}`,
  'contents.read': (args) => `reads the content of ${rowOf(args)}`,
  'provider.send': ([log_id, attempt]) => `sends attempt ${attempt} of ${log_id}`,
  'retries.send': ([message, seconds]) => `queues ${rowOf([message])} for in ${seconds} s`,
  'lanes.send': ([messages]) =>
    `queues ${(messages as QueuedMessage[]).map(({ message }) => message.log_id).join(', ')}`,
  'lanes.backlog': ([channel, lane]) => `looks at the lane ${channel}-${lane}`,
  'index.page': ([queue]) => `reads ${queue} of the work index`,
  'queue.delete': ([ids]) => `ends; deleted: ${(ids as string[]).join(', ')}`,
  'queue.giveBack': ([back]) =>
    `gives back ${(back as { receipt_handle: string; after_seconds: number }[]).map(({ receipt_handle, after_seconds }) => `${receipt_handle} for in ${after_seconds} s`).join(', ')}`,
  'event.end': ([, seconds]) => (seconds === null ? 'ends' : `ends; its event comes back in ${seconds} s`),
  'indexing.putFirst': ([owner]) => `stores the content of ${rowOf([owner])}`,
  'indexing.readLife': ([log_id]) => `looks whether ${log_id} is taken in`,
  'indexing.putBehind': ([owner]) => `stores the content of ${rowOf([owner])} behind another`,
  'indexing.hasContent': ([log_id]) => `looks for the content of ${log_id}`,
  'indexing.index': ([image]) => `takes in ${rowOf([image])}`,
  'stream.end': ([images]) => `ends; ${(images as unknown[]).length} images are dealt with`,
  'intake.reserve': () => 'reserves its key',
  'intake.putRow': (args) => `puts ${rowOf(args)}`,
  'intake.findRow': ([log_id]) => `looks for ${log_id}`,
  'producer.accepted': ([log_id]) => `is told that ${log_id} is accepted`,
  'budget.reserve': () => 'asks the budget',
  'time.pause': ([ms]) => `has waited ${ms} ms`,
  'time.timer': ([ms]) => `has waited ${ms} ms for others`,
};

export const wordsOf = ({ port, args }: Call): string => WORDS[port]?.(args) ?? `calls ${port}`;

const ADDED: Readonly<Record<Ending, string>> = {
  ok: '',
  postponed: ': nothing now',
  stale: ', as it was a write ago',
  refused: ': refused',
  hangs: ': hangs',
  unanswered: ': no answer, it may be applied later',
  repeated: ': applied, and the client repeats it',
  'dies before': '',
  'dies during': '',
};

/** One line of a story. */
export function labelOf(name: string, call: Call, ending: Ending): string {
  if (ending === 'dies before') return `${name} dies: it no longer ${wordsOf(call)}`;
  if (ending === 'dies during') return `${name} dies while it ${wordsOf(call)}`;
  return `${name} ${wordsOf(call)}${ADDED[ending]}`;
}

/** What an event says, in words. */
export function kindOf({ feedback }: DeliveryEvent): string {
  return `: ${feedback.kind}${feedback.kind === 'failed' ? ` ${feedback.answer.error_type}` : ''}`;
}
