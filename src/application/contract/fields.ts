import * as v from 'valibot';
import { CHANNELS } from '../../core/model/channels.ts';
import { ERROR_TYPES } from '../../core/model/error-types.ts';
import type { ProblemDocument } from '../../core/model/problem.ts';
import { parseTime } from '../../core/model/time.ts';

/** What schemas of requests and answers share. */

/** What a schema says of an answer, as nobody may change it. */
export type Out<S extends v.GenericSchema> = Frozen<v.InferOutput<S>>;
type Frozen<T> = T extends readonly (infer U)[]
  ? readonly Frozen<U>[]
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T;

/** A part of a key: DynamoDB refuses half a surrogate pair, and more than 1,024 bytes. */
const keyPart = (most: number) =>
  v.pipe(
    v.string(),
    v.minLength(1),
    v.maxLength(most),
    v.check((text) => text.isWellFormed(), 'must be well-formed Unicode'),
  );

/** Ids of tenants, notifications, integrations, and what a path names. */
export const id = keyPart(100);
/** What a cursor says of a place. */
export const placePart = keyPart(300);

/** Made by the client, once per decision of a person: a repeated request acts once. A UUID does. */
export const requestId = v.pipe(v.string(), v.regex(/^[\w-]{8,64}$/, 'must have 8 to 64 of A-Z, a-z, 0-9, _ and -'));
export const decisionBody = v.strictObject({ request_id: requestId });

export const moment = v.pipe(
  v.string(),
  v.regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/, 'must be a time such as 2026-11-01T10:30:00.000Z'),
  v.rawCheck(({ dataset, addIssue }) => {
    if (dataset.typed && !isTime(dataset.value)) addIssue({ message: 'must be a time that exists' });
  }),
);
export const day = v.pipe(
  v.string(),
  v.check((text) => isTime(`${text}T00:00:00.000Z`)),
);

/** Written as we write it: an hour 24 is read as the next day. */
function isTime(text: string): boolean {
  return parseTime(text)?.toISOString() === text;
}

/** Of a query: text, which callers write as a number. */
export const limit = v.optional(
  v.pipe(
    v.string(),
    v.regex(/^\d{1,3}$/),
    v.metadata({ minimum: 1, maximum: 200 }),
    v.transform(Number),
    v.minValue(1),
    v.maxValue(200),
  ),
  '50',
);

/** Of a query: visible ASCII. Other letters take up to twelve bytes each in a URL, and servers cut a long one off. */
export const cursor = v.optional(
  v.pipe(
    v.string(),
    v.maxLength(2_000),
    v.regex(
      /^[\x21-\x7e]+$/,
      'is not a cursor of this list: use next_cursor of its answer with the same filters, or omit it',
    ),
  ),
);

/** ISO-8601 UTC. Rows of other writers may hold other texts, so the form is not checked. */
export const time = v.string();
export const channel = v.picklist(CHANNELS);
export const errorType = v.picklist(ERROR_TYPES);
export const count = v.number();
/** Written by us. */
export const instant = v.pipe(v.string(), v.isoTimestamp());
export const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
export const counts = v.record(v.string(), count);

/** Every list is read page by page. A page may be empty and still have a next one: follow the cursor until null. */
export const nextPage = { next_cursor: v.nullable(v.string()) } as const;
export type NextPage = { readonly next_cursor: string | null };

/** A line for the shell that does the same as a button, or that shows more. */
export const shellLine = v.strictObject({ label: v.string(), command: v.string() });
export type ShellCommand = Out<typeof shellLine>;

/**
 * The columns of a row that an operator may see, as they are stored, and what becomes of it. What is `held` has
 * `held_by`, the provider that is down as its breaker names it, and `held_until`, when it is tried again at the soonest.
 */
export const notificationView = v.looseObject({
  state: v.picklist([
    'delivered',
    'claimed',
    'abandoned',
    'due',
    'waiting',
    'held',
    'dead',
    'stopped',
    'set_aside',
    'not_taken_in',
  ]),
});

/** The body of every answer above 399: RFC 9457, and what to do about it. */
export interface ProblemBody extends ProblemDocument {
  /** What a person does about it. */
  readonly remedy: string;
  /** The line for the shell that does what was refused, or shows more. */
  readonly command?: string;
}
