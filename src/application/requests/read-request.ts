import * as v from 'valibot';
import { mailbox } from '../../adapters/email/address.ts';
import { answerExcerpt } from '../../adapters/http/answers.ts';
import {
  bodyFault,
  type FailedAttempt,
  type NotificationRequest,
  routeFault,
  scheduleFault,
} from '../../core/intake/notification-request.ts';
import { CHANNELS } from '../../core/model/channels.ts';
import { defined } from '../../core/model/collections.ts';
import type { FieldFault } from '../../core/model/problem.ts';
import type { RetryPolicy } from '../../core/model/retry-policy.ts';
import { parseTime } from '../../core/model/time.ts';
import { check } from '../../http/check.ts';
import { batchItemSchema, failureSchema, notificationSchema, scheduleSchema } from '../contract/api/intake.ts';

/** @throws Problem, but not for the scheduled time alone: a repeat must still get its answer */
export function readNotification(input: unknown, now: Date, policy: RetryPolicy): NotificationRequest {
  return toRequest(check(notificationSchema, input, contentFaults(input), scheduleFaults(input, now, policy)));
}

/** Like readNotification, for an item of a batch. @throws Problem */
export function readBatchItem(
  input: unknown,
  now: Date,
  policy: RetryPolicy,
): { notification: NotificationRequest; idempotency_key?: string } {
  const beside = scheduleFaults(input, now, policy);
  const { idempotency_key, ...notification } = check(batchItemSchema, input, contentFaults(input), beside);
  return { notification: toRequest(notification), ...(idempotency_key !== undefined && { idempotency_key }) };
}

/** @throws Problem */
export const readFailure = (input: unknown): FailedAttempt => toFailure(check(failureSchema, input), []);

const channel = v.picklist(CHANNELS);
const channelAndBody = v.object({ channel, body: v.string() });
const fallbackAndBody = v.object({ fallback: v.object({ channel }), body: v.string() });

const route = v.object({ channel, recipient: v.string(), integration_config_id: v.optional(v.unknown()) });
const fallbackRoute = v.object({ fallback: route });

const isAddress = (text: string) => mailbox(text) !== undefined;

/** What several fields show together, if they are readable, whatever else is wrong with the request. */
function contentFaults(input: unknown): FieldFault[] {
  const own = v.is(route, input) && routeFault(input, isAddress);
  const other = v.is(fallbackRoute, input) && routeFault(input.fallback, isAddress, 'fallback.');
  const faults = [own, other].filter((fault) => fault !== undefined && fault !== false);
  return [...faults, ...bodyFaults(input)];
}

function bodyFaults(input: unknown): FieldFault[] {
  const body = v.is(channelAndBody, input) && bodyFault(input.channel, input.body);
  const fallback = v.is(fallbackAndBody, input) && bodyFault(input.fallback.channel, input.body, 'fallback');
  return [body, fallback].filter((fault) => fault !== undefined && fault !== false);
}

function scheduleFaults(input: unknown, now: Date, policy: RetryPolicy): FieldFault[] {
  const parsed = v.safeParse(scheduleSchema, input);
  if (!parsed.success) return [];
  const { scheduled_at, priority } = parsed.output;
  const fault = scheduleFault({ scheduled_at: iso(scheduled_at), priority }, now, policy);
  return fault === undefined ? [] : [fault];
}

function toRequest(checked: v.InferOutput<typeof notificationSchema>): NotificationRequest {
  const { failed_attempt, scheduled_at, fallback, ...rest } = checked;
  const personal = [checked.recipient, checked.subject, checked.body];
  return defined({
    ...rest,
    scheduled_at: scheduled_at && iso(scheduled_at),
    fallback: fallback && defined(fallback),
    failed_attempt: failed_attempt && toFailure(failed_attempt, personal),
  }) as NotificationRequest;
}

/** The answers of providers may quote addresses. What is stored must not (docs/architecture.md, invariant 9). */
function toFailure(
  { attempted_at, response_code, response_message, ...rest }: v.InferOutput<typeof failureSchema>,
  personal: readonly (string | undefined)[],
): FailedAttempt {
  return defined({
    ...rest,
    response_code: response_code && answerExcerpt(response_code, []),
    response_message: response_message && answerExcerpt(response_message, personal),
    attempted_at: attempted_at && iso(attempted_at),
  }) as FailedAttempt;
}

const iso = (time: string): string => (parseTime(time) ?? new Date(Number.NaN)).toISOString();
