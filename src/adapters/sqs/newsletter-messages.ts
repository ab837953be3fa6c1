// Readers of messages need no SQS client, so none is imported here: it would load at their cold start.

import * as v from 'valibot';
import { type PrepareMessage, RESOLUTIONS, type SendMessage } from '../../core/newsletter/model/email-message.ts';

const id = v.pipe(v.string(), v.minLength(1), v.maxLength(100));
const whole = v.pipe(v.number(), v.integer(), v.minValue(0));

/** Unknown keys, which a later version may add, are ignored. */
export const prepareMessage: v.GenericSchema<unknown, PrepareMessage> = v.object({
  version: v.literal(1),
  kind: v.picklist(['count', 'start', 'dry-run']),
  email_id: id,
});

const entryOutcome = v.object({
  n: whole,
  state: v.picklist(['submitted', 'failed', 'uncertain', 'pending']),
  reason: v.exactOptional(v.string()),
  tries: v.exactOptional(whole),
  message_id: v.exactOptional(v.string()),
});

export const sendMessage: v.GenericSchema<unknown, SendMessage> = v.variant('kind', [
  v.object({ version: v.literal(1), kind: v.literal('batch'), email_id: id, batch_id: id, slot: id }),
  v.object({
    version: v.literal(1),
    kind: v.literal('resolve'),
    email_id: id,
    action: v.picklist(RESOLUTIONS),
    seen_at: v.pipe(v.string(), v.isoTimestamp()),
    after: id,
  }),
  v.object({
    version: v.literal(1),
    kind: v.literal('record'),
    email_id: id,
    batch_id: id,
    chunk: whole,
    outcome: v.object({ call_id: id, outcomes: v.array(entryOutcome), at: v.pipe(v.string(), v.isoTimestamp()) }),
  }),
]);
