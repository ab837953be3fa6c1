import type { InvokeCommandOutput } from '@aws-sdk/client-lambda';
import * as v from 'valibot';
import { CHANNELS, PRIORITIES } from '../../core/model/channels.ts';
import { defined } from '../../core/model/collections.ts';
import type { SweepCursor } from '../../core/sweep/sweep.ts';
import { isBetweenSweeps, type SweepRequest } from '../../core/sweep/sweep-run.ts';

/** Longest part of an operator's scan, in seconds: the function also needs time for the rows that it finds. */
const MAX_PART_SECONDS = 600;

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));

const operatorsPart = v.strictObject({
  dry_run: v.boolean(),
  seconds: v.pipe(v.number(), v.minValue(1), v.maxValue(MAX_PART_SECONDS)),
  after: v.exactOptional(v.record(v.string(), v.unknown())),
});
const continued = v.strictObject({ continued: v.literal(true) });
const scheduled = v.object({ source: v.literal('aws.events') });

/** A part of an operator's scan (`ops reconcile`). */
export type ReconcilePart = v.InferOutput<typeof operatorsPart>;

const reconcileAnswer = v.object({
  scanned: whole,
  missed: whole,
  taken_in: whole,
  set_aside: whole,
  failed: whole,
  next: v.exactOptional(v.record(v.string(), v.unknown())),
});
export type ReconcileAnswer = v.InferOutput<typeof reconcileAnswer>;

/** EventBridge's event, its own, or an operator's. @throws Error that names every field that is unknown or wrong */
export function parseReconcileEvent(event: unknown): { part: ReconcilePart } | { continued: boolean } {
  if (event === null || event === undefined || v.is(scheduled, event)) return { continued: false };
  if (v.is(continued, event)) return event;
  const parsed = v.safeParse(operatorsPart, event);
  if (parsed.success) return { part: parsed.output };
  const faults = parsed.issues.map((issue) => `${v.getDotPath(issue) ?? 'event'}: ${issue.message}`);
  throw new Error(`The event of the reconciler is wrong: ${faults.join('; ')}`);
}

/** What the reconciler answers to an operator's part. @throws Error with the message of the function */
export function parseReconcileAnswer({
  Payload,
  FunctionError,
}: Pick<InvokeCommandOutput, 'Payload' | 'FunctionError'>): ReconcileAnswer {
  const text = new TextDecoder().decode(Payload);
  if (FunctionError !== undefined) throw new Error(`The reconciler failed: ${messageIn(text)}`);
  return v.parse(reconcileAnswer, JSON.parse(text));
}

function messageIn(text: string): string {
  const answer = v.safeParse(v.pipe(v.string(), v.parseJson(), v.object({ errorMessage: v.string() })), text);
  return answer.success ? answer.output.errorMessage : 'its log says why';
}

const positive = v.pipe(v.number(), v.integer(), v.minValue(1));

const place = v.array(v.union([v.literal('end'), v.null(), v.record(v.string(), v.unknown())]));

const cursor = v.object({
  queue: v.pipe(v.number(), v.integer(), v.minValue(0)),
  after: place,
  later: v.exactOptional(v.array(v.nullable(place))),
  started: v.pipe(v.string(), v.isoTimestamp()),
  busy: v.array(v.string()),
  unmet: v.exactOptional(v.record(v.string(), v.number())),
  rooms: v.exactOptional(
    v.record(
      v.string(),
      v.object({
        limit: v.number(),
        messages: v.number(),
        before: v.number(),
        at: v.number(),
        held: v.number(),
        beyond: v.exactOptional(v.number()),
      }),
    ),
  ),
  last_sweep: v.exactOptional(v.pipe(v.string(), v.isoTimestamp())),
  sent: v.pipe(v.number(), v.integer(), v.minValue(0)),
});

/**
 * The event with which the job, an operator or the dispatcher itself calls the dispatcher. Unknown keys are refused.
 */
const sweepEvent = v.strictObject({
  max_retry_count: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
  channel: v.optional(v.picklist(CHANNELS)),
  priority: v.optional(v.picklist(PRIORITIES)),
  tenant: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(50))),
  limit: v.optional(positive),
  dry_run: v.optional(v.boolean()),
  list: v.optional(v.boolean()),
  force_retry: v.optional(v.boolean()),
  ahead: v.optional(v.boolean()),
  express_minutes: v.optional(positive),
  run_id: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(100))),
  cursor: v.optional(cursor),
});
export type SweepEvent = v.InferInput<typeof sweepEvent>;

const schedule = v.object({ source: v.literal('aws.events') });

/** The scheduled event, or the job's options. @throws Error that names every field that is unknown or wrong */
export function parseSweepEvent(event: unknown): {
  request: SweepRequest;
  from?: SweepCursor;
  run_id?: string;
  scheduled: boolean;
} {
  if (event === null || event === undefined || v.is(schedule, event)) return { request: {}, scheduled: true };
  const parsed = v.safeParse(sweepEvent, event);
  if (!parsed.success) {
    const faults = parsed.issues.map((issue) => `${v.getDotPath(issue) ?? 'event'}: ${issue.message}`);
    throw new Error(`The sweep's options are wrong: ${faults.join('; ')}`);
  }
  const { cursor: from, run_id, ...options } = parsed.output;
  if (options.list && !options.dry_run)
    throw new Error("The sweep's options are wrong: list: only a dry run names its targets; add dry_run");
  const request: SweepRequest = defined(options);
  return {
    request,
    scheduled: isBetweenSweeps(request) || run_id?.startsWith('sweep-') || false,
    ...(from && { from: from as SweepCursor }),
    ...(run_id !== undefined && { run_id }),
  };
}
