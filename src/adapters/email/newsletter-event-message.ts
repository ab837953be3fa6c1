import * as v from 'valibot';
import type { NewsletterEvent } from '../../core/newsletter/events/apply-events.ts';
import { parseMessage } from '../sqs/message-bodies.ts';
import { type Bounce, errorOfBounce, eventEntries } from './bounces.ts';

/**
 * A message in the queue of newsletter events. EventBridge's rules make it from an event of SES without recipient and
 * subject, which must not be in a queue (docs/architecture.md, invariant 9). The tags are those of
 * src/core/newsletter/sending/send-deps.ts.
 */
const message = v.object({
  ...eventEntries,
  email_id: v.pipe(v.string(), v.regex(/^[\w-]{1,64}$/)),
  /** `<batch_id>-<chunk>` */
  chunk: v.pipe(v.string(), v.regex(/^[a-z0-9]{1,20}-\d{1,6}$/)),
  /** `<n>-<hash of the address>`; mails that were sent before the hash was there have the number alone. */
  n: v.pipe(v.string(), v.regex(/^[0-4]?\d(-[\w-]{22})?$/)),
  /** SES flags opens and clicks by machines; absent where it does not say. */
  machine: v.optional(v.union([v.boolean(), v.picklist(['true', 'false'])])),
});
type Message = v.InferOutput<typeof message>;

const WHAT = 'is no newsletter event of ours';

type Told = Pick<NewsletterEvent, 'kinds' | 'suppress' | 'rejected'>;

/** Undefined for an event that tells nothing. @throws Error that names each wrong field and quotes no value */
export function parseNewsletterEvent(body: string): NewsletterEvent | undefined {
  const parsed = parseMessage(message, body, WHAT);
  const { email_id, chunk: place, n: entry } = parsed;
  const told = toldBy(parsed);
  const [batch_id = '', chunk = ''] = place.split('-');
  const [, n, email_hash] = /^(\d+)(?:-(.+))?$/.exec(entry) ?? [];
  return told && { email_id, batch_id, chunk: Number(chunk), n: Number(n), ...(email_hash && { email_hash }), ...told };
}

function toldBy({ event, bounce, machine }: Message): Told | undefined {
  const byMachine = machine === true || machine === 'true';
  switch (event) {
    case 'Send':
      return { kinds: ['accepted'] };
    case 'Delivery':
      return { kinds: ['accepted', 'delivered'] };
    case 'Open':
      return { kinds: ['accepted', byMachine ? 'machine_opened' : 'opened'] };
    case 'Click':
      return { kinds: ['accepted', byMachine ? 'machine_clicked' : 'clicked'] };
    case 'Complaint':
      return { kinds: ['accepted', 'complained'], suppress: 'complained' };
    case 'Bounce':
      if (bounce === undefined) throw new Error(`The message ${WHAT}: bounce must be Object`);
      return bounced(bounce);
    case 'Reject':
      return { kinds: ['rejected'], rejected: 'rejected' };
    case 'Rendering Failure':
      return { kinds: ['rejected'], rejected: 'rendering_failure' };
    default:
      return undefined;
  }
}

/**
 * A mailbox that is full says nothing of the next mail, and an automatic reply nothing at all. A server that refuses the sender or the
 * content (RFC 3463 §3.8: 5.7.x) says nothing of the address: another newsletter may reach it.
 */
function bounced(bounce: Bounce): Told {
  const error = errorOfBounce(bounce);
  if (error !== 'INVALID_RECIPIENT')
    return { kinds: error === undefined ? ['accepted'] : ['accepted', 'soft_bounced'] };
  const isPolicy = /^5\.7\./.test(bounce.status ?? '');
  return { kinds: ['accepted', 'bounced'], ...(!isPolicy && { suppress: 'bounced' }) };
}
