import * as v from 'valibot';
import { CHANNELS, PRIORITIES } from '../../core/model/channels.ts';
import { REQUESTED_BY } from '../../core/model/notification.ts';
import type { QueueMessage } from '../../core/model/queue-message.ts';
import { fitsMessage } from '../../core/model/work-rules.ts';

/** By the rule of the work index, which the row of the message has passed. */
const entry = (column: Parameters<typeof fitsMessage>[0]) => v.custom<string>((value) => fitsMessage(column, value));

/**
 * A message of the lanes (a contract: fields are added, never renamed). Unknown keys, which a later version may add,
 * are ignored. Pure, so that a bundle that reads other messages leaves it out.
 */
const queueMessage = /* @__PURE__ */ (() =>
  v.object({
    version: v.literal(1),
    log_id: entry('log_id'),
    tenant_id: entry('tenant_id'),
    channel: v.picklist(CHANNELS),
    priority: v.picklist(PRIORITIES),
    due: entry('work_at'),
    run_id: v.pipe(v.string(), v.minLength(1), v.maxLength(100)),
    options: v.optional(
      v.object({
        max_retry_count: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
        force: v.optional(v.literal(true)),
        named: v.optional(v.literal(true)),
      }),
    ),
    requested_by: v.optional(v.picklist(REQUESTED_BY)),
    enqueued_at: v.optional(v.pipe(v.string(), v.isoTimestamp())),
    slot: v.optional(v.pipe(v.string(), v.isoTimestamp())),
  }))();

/** @throws Error that names every field that is missing or wrong, and quotes no value */
export const parseQueueMessage = (body: string): QueueMessage => parseMessage(queueMessage, body) as QueueMessage;

/** A message of any kind. @throws Error that names every field that is missing or wrong, and quotes no value */
export function parseMessage<S extends v.GenericSchema>(
  schema: S,
  body: string,
  what = 'is not one of ours',
): v.InferOutput<S> {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), body);
  if (parsed.success) return parsed.output;
  const faults = parsed.issues.map(
    (issue) => `${v.getDotPath(issue) ?? 'body'} must be ${issue.expected ?? issue.type}`,
  );
  throw new Error(`The message ${what}: ${faults.join('; ')}`);
}
