import type { InvokeCommandOutput } from '@aws-sdk/client-lambda';
import * as v from 'valibot';

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
