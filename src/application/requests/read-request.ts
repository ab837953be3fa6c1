import * as v from 'valibot';
import { mailbox } from '../../adapters/email/address.ts';
import { answerExcerpt } from '../../adapters/http/answers.ts';
import {
  bodyFault,
  type FailedAttempt,
  type NotificationRequest,
  scheduleFault,
} from '../../core/intake/notification-request.ts';
import { CHANNELS } from '../../core/model/channels.ts';
import { defined } from '../../core/model/defined.ts';
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

/** What several fields show together, if they are readable, whatever else is wrong with the request. */
function contentFaults(input: unknown): FieldFault[] {
  const own = v.is(route, input) && routeFault(input);
  const other = v.is(fallbackRoute, input) && routeFault(input.fallback, 'fallback.');
  const faults = [own, other].filter((fault) => fault !== undefined && fault !== false);
  return [...faults, ...bodyFaults(input)];
}

/**
 * What the channel can never take, as far as the request shows it without the integration's secret. Plain http is for
 * receivers on this machine, to which only the local runtime posts.
 */
function routeFault(
  { channel, recipient, integration_config_id }: v.InferOutput<typeof route>,
  of = '',
): FieldFault | undefined {
  const path = `${of}recipient`;
  if (channel === 'email') {
    const message = 'must be one e-mail address: ASCII characters, an @ sign, and a domain';
    return mailbox(recipient) === undefined ? { path, rule: 'email', message } : undefined;
  }
  if (integration_config_id !== undefined || isTarget(recipient)) return undefined;
  if (channel === 'webhook' || recipient.includes('://')) {
    return { path, rule: 'url', message: 'must be an https URL without a user name or password' };
  }
  const message = `is required, unless recipient is the URL of ${channel === 'slack' ? 'an incoming webhook' : 'a workflow'}`;
  return { path: `${of}integration_config_id`, rule: 'required', message };
}

function isTarget(text: string): boolean {
  const url = URL.parse(text.trim());
  if (url === null || url.username !== '' || url.password !== '') return false;
  return (
    url.protocol === 'https:' || (url.protocol === 'http:' && /^(localhost|127\.[\d.]+|\[::1\])$/.test(url.hostname))
  );
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
