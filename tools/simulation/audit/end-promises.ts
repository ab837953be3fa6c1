import { recordFaults } from '../../../src/core/verify/rules/record-rules.ts';
import {
  accountOf,
  arrivalFaults,
  attemptFaults,
  type Fault,
  firstAttempt,
  hasContentInTheClear,
} from '../../../src/core/verify/rules/row-rules.ts';
import { neverTried } from './life-promises.ts';
import type { Memory, Stored } from './memory.ts';
import { isIntruder, textOf } from './promises.ts';

/** A world in which nothing is left to do. */
export interface End {
  readonly rows: readonly Stored[];
  readonly records: readonly Stored[];
  /** The log_ids of the dead letters. */
  readonly letters: readonly unknown[];
  /** The log_ids of which records are lost for good. */
  readonly unrecorded?: readonly unknown[] | undefined;
  /** By log_id; decrypted. */
  readonly contents?: readonly (readonly [string, Stored])[];
}

export function ended(memory: Memory, end: End): readonly string[] {
  const missing = memory.handedOver.filter((accepted) => !end.rows.some(({ log_id }) => log_id === accepted));
  return [
    ...missing.map(() => '1: accepted from its producer, and no row'),
    ...rowsEnded(memory, end),
    ...leftOf(memory, end),
  ];
}

const inWords = ({ rule, says }: Fault): string => `${rule}: ${says}`;

/** Ends that another channel may avoid: a notification that names a fallback goes on there, once. */
const FAILED_OVER: ReadonlySet<unknown> = new Set(['MAX_RETRIES', 'EXPIRED', 'INVALID_RECIPIENT']);

function rowsEnded(memory: Memory, { rows, records, letters, unrecorded = [] }: End): readonly string[] {
  return rows.flatMap((row) => {
    const { log_id, send_status, failure_reason, work_queue = '' } = row;
    if (isIntruder(row)) return intruder(row, memory);
    const [violations, queue] = [[] as string[], textOf(work_queue)];
    // Who deletes a row while it is sent, and edits it, has its end: nobody sends it any more.
    const account = accountOf(row, Number.POSITIVE_INFINITY) ?? 'in_flight';
    if (account === 'waiting' || account === 'in_flight' || queue.startsWith('due'))
      violations.push(`1: lost: ${send_status} ${failure_reason ?? ''} ${queue} at the end`);
    if (row['record_due'] !== undefined) violations.push('6: it owes its record at the end');
    if (hasContentInTheClear(row)) violations.push('14: content is left in the clear');
    const its = records.filter(({ original_log_id }) => original_log_id === log_id);
    const told = its.some(({ retry_status }) => retry_status === 'SUCCESS') && memory.accepted[String(log_id)];
    const isRecorded = !unrecorded.includes(log_id);
    if (send_status === 'SUCCESS' && !told && isRecorded)
      violations.push('1: SUCCESS without an acceptance and its record');
    // The first send was its writer's, unless the row began here.
    const faults = recordFaults(row, its, firstAttempt(row) ?? 1);
    const isLost = ({ says }: Fault) => !isRecorded && says.endsWith('has no record');
    violations.push(...faults.filter((one) => !isLost(one)).map(inWords));
    if (queue.startsWith('dead') && !letters.includes(log_id)) violations.push('11: a dead row without a letter');
    violations.push(...[...arrivalFaults(row), ...attemptFaults(row)].map(inWords), ...neverTried(memory, row));
    if (row['give_up'] !== undefined && row['is_deleted'] !== true)
      violations.push('1: it is still to be given up at the end');
    const goesOn = row['fallback_channel'] !== undefined && FAILED_OVER.has(failure_reason);
    const successor = rows.find((one) => one['log_id'] === row['successor_log_id']);
    if (goesOn && successor?.['predecessor_log_id'] !== log_id && !queue.startsWith('dead'))
      violations.push('1: no successor');
    // What is deleted after it was handed on takes its successor along, and an operator may cancel that by itself.
    const isWanted = row['is_deleted'] !== true && !memory.cancelled.includes(String(successor?.['log_id']));
    const withdrawn = successor?.['failure_reason'] === 'CANCELLED' && isWanted;
    if (withdrawn && goesOn && !queue.startsWith('dead')) violations.push('1: it goes on as one that was withdrawn');
    return violations;
  });
}

/** What an operator erased stays so: nobody stores or says it again. */
function leftOf({ erased }: Memory, { rows, contents = [] }: End): string[] {
  return erased.flatMap((log_id) => {
    const row = rows.find((one) => one['log_id'] === log_id);
    const content = contents.find(([id]) => id === log_id)?.[1];
    const violations = textOf(content?.['recipient']) === '' ? [] : ['15: erased, and its content is stored'];
    if (row?.['erased_at'] === undefined) violations.push('15: erased, and its row does not say so');
    return violations;
  });
}

/** It left the index with a reason, and nobody received it. */
function intruder({ log_id, send_status, failure_reason, work_queue }: Stored, memory: Memory): string[] {
  const left = !textOf(work_queue).startsWith('due') && (send_status === 'SUCCESS' || failure_reason !== undefined);
  const violations = left ? [] : ['1: an intruder is still due, or left without a reason'];
  return memory.accepted[String(log_id)] === undefined ? violations : [...violations, '9: an intruder was sent'];
}

const HOUR = 3_600_000;
/** Hours from the first attempt in which a retry may be made, by priority (batch-952-notification-retry.md §5). */
export const WINDOW_HOURS: Readonly<Record<string, number>> = { urgent: 24, important: 12, normal: 6, info: 3 };

/**
 * The rows that must be sent before they expire, if nothing fails from now on: a message that got lost costs a third of
 * the window, and the sweep may be an hour away.
 */
export function inTime(rows: readonly Stored[], now: number): readonly unknown[] {
  const ours = rows.filter((row) => !isIntruder(row));
  return ours.flatMap((row) => {
    const { log_id, work_queue, work_at, first_attempt_at, priority, is_deleted, give_up, send_status } = row;
    const due = textOf(work_queue).startsWith('due') && Date.parse(textOf(work_at)) <= now && send_status !== 'SENDING';
    const window = (WINDOW_HOURS[String(priority)] ?? 0) * HOUR;
    const deadline = first_attempt_at === undefined ? now + window : Date.parse(String(first_attempt_at)) + window;
    const wanted = due && is_deleted !== true && give_up === undefined;
    return wanted && deadline > now + window / 3 + HOUR ? [log_id] : [];
  });
}

/** @param waiting what `inTime` said before @param isSent whether the provider was asked to send it since */
export function expired(waiting: readonly unknown[], rows: readonly Stored[], isSent: (log_id: string) => boolean) {
  const late = ({ log_id, failure_reason }: Stored) =>
    waiting.includes(log_id) && failure_reason === 'EXPIRED' && !isSent(String(log_id));
  return rows.filter(late).map(() => '1: expired unsent while the provider was up');
}

/** A row whose message is noted as queued is left out by sweeps: so there is one, while nobody works on it. */
export function waitingForNothing(
  rows: readonly Stored[],
  messages: readonly { log_id: string; due: string }[],
): string[] {
  return rows.flatMap(({ log_id, send_status, work_at, queued_for }) => {
    const noted = send_status === 'RETRY' && queued_for === textOf(work_at).slice(11, 19) && isOurs(textOf(work_at));
    const isThere = messages.some((message) => message.log_id === log_id && message.due === work_at);
    return noted && !isThere ? ['1: it waits for a message that is gone'] : [];
  });
}

/** A time that the pipeline wrote: that of another form is its writer's, whom no message follows. */
const isOurs = (time: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time);

/** @param dead the rows that were dead when all letters were redriven @param rows as they are after that */
export function answeredRedrive(dead: readonly Stored[], rows: readonly Stored[]): readonly string[] {
  return dead.flatMap(({ log_id, last_attempt }) => {
    const row = rows.find((one) => one['log_id'] === log_id);
    const attempted = Number(row?.['last_attempt']) > Number(last_attempt);
    return attempted || row?.['send_status'] === 'SUCCESS' ? [] : ['11: a redrive of its letters sends it no more'];
  });
}
