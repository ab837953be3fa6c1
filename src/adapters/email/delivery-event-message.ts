import * as v from 'valibot';
import type { DeliveryEvent, Feedback } from '../../core/delivery-events/delivery-event.ts';
import { fromTag } from '../signing/hashed-ids.ts';
import { parseMessage } from '../sqs/message-bodies.ts';
import {
  type Bounce,
  describeBounce,
  errorOfBounce,
  eventEntries,
  isFinal,
  isSuppressed,
  NO_BOUNCE,
} from './bounces.ts';

/**
 * A message in the queue of delivery events. The rules of lib/constructs/delivery-events/delivery-events.ts make
 * it from an event of SES without the recipient and the subject, which must not be in a queue (docs/architecture.md,
 * invariant 9).
 */
const message = v.object({
  ...eventEntries,
  log_id: v.pipe(v.string(), v.regex(/^[\w-]{1,256}$/)),
  attempt: v.pipe(v.string(), v.regex(/^\d{1,9}$/), v.transform(Number)),
  provider_message_id: v.pipe(v.string(), v.regex(/^[\w.@-]{1,100}$/)),
});
type Message = v.InferOutput<typeof message>;

const WHAT = 'is no delivery event of ours';

/**
 * Reads the body of a message.
 * @returns undefined for an event of a kind that is not used
 * @throws Error that names every field that is missing or wrong, and quotes no value
 */
export function parseDeliveryEvent(body: string): DeliveryEvent | undefined {
  const parsed = parseMessage(message, body, WHAT);
  const { log_id, attempt, at, provider_message_id } = parsed;
  const feedback = feedbackOf(parsed);
  return (
    feedback && { log_id: fromTag(log_id), attempt, at: new Date(at).toISOString(), provider_message_id, feedback }
  );
}

function feedbackOf({ event, bounce = NO_BOUNCE, complaint, machine }: Message): Feedback | undefined {
  switch (event) {
    case 'Delivery':
      return { kind: 'delivered' };
    case 'Open':
      // A machine that loads the image has the mail; whether a person sees it is open.
      return { kind: machine ? 'delivered' : 'opened' };
    case 'Complaint':
      if (complaint === 'suppressed') return SUPPRESSED;
      return { kind: complaint === 'not-spam' ? 'delivered' : 'complained' };
    case 'Reject':
      return failed(event, 'SES found a virus in the mail and did not send it');
    case 'Rendering Failure':
      return failed(event, 'SES could not fill in the template');
    case 'Bounce':
      return bounceOf(bounce);
    default:
      return undefined;
  }
}

/** SES had the recipient on its list of who complained, and sent nothing. */
const SUPPRESSED: Feedback = {
  kind: 'failed',
  answer: {
    error_type: 'INVALID_RECIPIENT',
    message: 'SES has the recipient on a suppression list: an earlier complaint',
    details: { event: 'Complaint', sub_type: 'OnAccountSuppressionList' },
  },
  final: true,
  suppressed: true,
};

function bounceOf(bounce: Bounce): Feedback {
  const error_type = errorOfBounce(bounce);
  if (error_type === undefined) return { kind: 'unclear', message: describeBounce(bounce) };
  return {
    kind: 'failed',
    answer: {
      error_type,
      message: describeBounce(bounce),
      ...(bounce.status !== undefined && { response_code: bounce.status.slice(0, 20) }),
      details: { event: 'Bounce', ...bounce },
    },
    ...(isFinal(bounce) && { final: true }),
    ...(isSuppressed(bounce) && { suppressed: true }),
  };
}

/** SES did not send the mail at all. */
function failed(event: string, message: string): Feedback {
  return { kind: 'failed', answer: { error_type: 'FORMAT_ERROR', message, details: { event } }, final: true };
}
