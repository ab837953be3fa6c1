import * as v from 'valibot';
import { bodyFault, fallbackFault } from '../../core/intake/body-limits.ts';
import type { FailedAttempt, NotificationRequest } from '../../core/intake/notification-request.ts';
import { scheduleFault } from '../../core/intake/schedule-rule.ts';
import { CHANNELS } from '../../core/model/channels.ts';
import { type FieldFault, Problem } from '../../core/model/problem.ts';
import type { RetryPolicy } from '../../core/model/retry-policy.ts';
import { parseTime } from '../../core/model/time.ts';
import { answerExcerpt } from '../http/answer-excerpt.ts';
import {
  batchItemSchema,
  failureSchema,
  idempotencyKey,
  notificationSchema,
  scheduleSchema,
} from './request-schemas.ts';

/** Most faults that one answer names, including the one that gives the number of the others. */
const MAX_FAULTS = 50;
/** Most faults that `detail`, the sentence for people, names. */
const MAX_DESCRIBED = 10;

/**
 * @param more faults that the schema cannot find
 * @param beside faults that are named only together with others; alone they do not refuse the request here
 * @throws Problem that names every fault with its path and rule, and quotes no value
 */
export function check<S extends v.GenericSchema>(
  schema: S,
  input: unknown,
  more: readonly FieldFault[] = [],
  beside: readonly FieldFault[] = [],
): v.InferOutput<S> {
  const parsed = v.safeParse(schema, input);
  const issues = (parsed.issues ?? []).filter(({ expected }) => expected !== 'never');
  const faults = [...issues.map(faultOf), ...more, ...unknownKeys(schema, input)];
  if (parsed.success && faults.length === 0) return parsed.output;
  throw invalid([...faults, ...beside]);
}

export function invalid(faults: readonly FieldFault[]): Problem {
  if (faults.length <= MAX_FAULTS) return new Problem('invalid-request', describe(faults), { errors: faults });
  const named = faults.slice(0, MAX_FAULTS - 1);
  const rest = { path: '', rule: 'more', message: `breaks rules at ${faults.length - named.length} more places` };
  return new Problem('invalid-request', describe(faults), { errors: [...named, rest] });
}

function describe(faults: readonly FieldFault[]): string {
  const named = faults.slice(0, MAX_DESCRIBED);
  const sentences = named.map(({ path, message }) => `${path === '' ? 'the request' : path} ${message}`);
  const rest = faults.length - named.length;
  return [...sentences, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ');
}

/** Rule names of the schemas that say how they check, replaced by names that say what the value has to be. */
const RULES: Readonly<Record<string, string>> = {
  check: 'well_formed_unicode',
  raw_check: 'existing_time',
  picklist: 'one_of',
  raw_transform: 'address',
};

function faultOf(issue: v.BaseIssue<unknown>): FieldFault {
  const path = v.getDotPath(issue) ?? '';
  if (issue.message === 'is required' || issue.received === 'undefined')
    return { path, rule: 'required', message: 'is required' };
  return { path, rule: RULES[issue.type] ?? issue.type, message: issue.message };
}

/** @throws Problem */
export function readIdempotencyKey(header: string | undefined): string {
  if (header !== undefined && v.is(idempotencyKey, header)) return header;
  throw new Problem(
    'idempotency-key-missing',
    'The header Idempotency-Key is required: 1 to 128 visible ASCII characters, the same for every try of one request.',
  );
}

/** For requests that can be repeated without harm. @throws Problem when there is a key, and it is malformed */
export function readOptionalIdempotencyKey(header: string | undefined): void {
  if (header !== undefined) readIdempotencyKey(header);
}

/** @throws Problem, but not for the scheduled time alone: a repeat must still get its answer */
export function readNotification(input: unknown, now: Date, policy: RetryPolicy): NotificationRequest {
  return toRequest(check(notificationSchema, input, bodyFaults(input), scheduleFaults(input, now, policy)));
}

/** Like readNotification, for an item of a batch. @throws Problem */
export function readBatchItem(
  input: unknown,
  now: Date,
  policy: RetryPolicy,
): { notification: NotificationRequest; idempotency_key?: string } {
  const beside = scheduleFaults(input, now, policy);
  const { idempotency_key, ...notification } = check(batchItemSchema, input, bodyFaults(input), beside);
  return { notification: toRequest(notification), ...(idempotency_key !== undefined && { idempotency_key }) };
}

/** @throws Problem */
export function readFailure(input: unknown): FailedAttempt {
  return toFailure(check(failureSchema, input), []);
}

const channel = v.picklist(CHANNELS);
const channelAndBody = v.object({ channel, body: v.string() });
const fallbackAndBody = v.object({ fallback: v.object({ channel }), body: v.string() });

/** Checks the length of the body if channel and body are readable, whatever else is wrong with the request. */
function bodyFaults(input: unknown): FieldFault[] {
  const body = v.is(channelAndBody, input) && bodyFault(input.channel, input.body);
  const fallback = v.is(fallbackAndBody, input) && fallbackFault(input.fallback.channel, input.body);
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
  { attempted_at, response_message, ...rest }: v.InferOutput<typeof failureSchema>,
  personal: readonly (string | undefined)[],
): FailedAttempt {
  return defined({
    ...rest,
    response_message: response_message && answerExcerpt(response_message, personal),
    attempted_at: attempted_at && iso(attempted_at),
  }) as FailedAttempt;
}

function iso(time: string): string {
  return (parseTime(time) ?? new Date(Number.NaN)).toISOString();
}

/** The object without the keys whose value is undefined. */
function defined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined));
}

type Schema = v.GenericSchema & {
  /** The inner schema of an optional one. */
  readonly wrapped?: Schema;
  /** The entries of an object. */
  readonly entries?: Readonly<Record<string, Schema>>;
};

/** A key is the caller's text, so only as much of it is repeated as is needed to find it. */
const MAX_PATH = 100;

/** All keys that the schema does not know, also in nested objects. Valibot itself stops at the first one. */
function unknownKeys({ wrapped, entries }: Schema, input: unknown, at = ''): FieldFault[] {
  if (wrapped !== undefined) return unknownKeys(wrapped, input, at);
  if (entries === undefined || typeof input !== 'object' || input === null) return [];
  const message = `is not known here; known keys are ${Object.keys(entries).join(', ')}`;
  return Object.entries(input).flatMap(([key, value]) => {
    const path = `${at}${key}`;
    const entry = Object.hasOwn(entries, key) ? entries[key] : undefined;
    if (entry !== undefined) return unknownKeys(entry, value, `${path}.`);
    return { path: path.length > MAX_PATH ? `${path.slice(0, MAX_PATH)}…` : path, rule: 'unknown', message };
  });
}
