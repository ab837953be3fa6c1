import * as v from 'valibot';
import type { NewsletterEvent } from '../../core/newsletter/model/batch-events.ts';
import { parseMessage } from '../sqs/message-bodies.ts';
import { type Bounce, errorOfBounce, eventEntries, isSuppressed, NO_BOUNCE } from './bounces.ts';

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
  /** When SES took the mail, and its id; absent on messages of earlier versions. */
  sent_at: v.fallback(
    v.optional(
      v.pipe(
        v.string(),
        v.isoTimestamp(),
        v.transform((at) => new Date(at).toISOString()),
      ),
    ),
    undefined,
  ),
  provider_message_id: v.fallback(v.optional(v.pipe(v.string(), v.regex(/^[\w-]{1,100}$/))), undefined),
});
type Message = v.InferOutput<typeof message>;

const WHAT = 'is no newsletter event of ours';

type Told = Pick<NewsletterEvent, 'kinds' | 'suppress' | 'rejected'>;

/** Undefined for an event that tells nothing. @throws Error that names each wrong field and quotes no value */
export function parseNewsletterEvent(body: string): NewsletterEvent | undefined {
  const parsed = parseMessage(message, body, WHAT);
  const { email_id, chunk: place, n: entry, sent_at, provider_message_id: message_id } = parsed;
  const told = toldBy(parsed);
  const [batch_id = '', chunk = ''] = place.split('-');
  const [, n, email_hash] = /^(\d+)(?:-(.+))?$/.exec(entry) ?? [];
  const of = { ...(email_hash && { email_hash }), ...(sent_at && { sent_at }), ...(message_id && { message_id }) };
  return told && { email_id, batch_id, chunk: Number(chunk), n: Number(n), ...of, ...told };
}

function toldBy({ event, bounce = NO_BOUNCE, complaint, machine }: Message): Told | undefined {
  switch (event) {
    case 'Send':
      return { kinds: ['accepted'] };
    case 'Delivery':
      return { kinds: ['accepted', 'delivered'] };
    case 'Open':
      return { kinds: ['accepted', machine ? 'machine_opened' : 'opened'] };
    case 'Click':
      return { kinds: ['accepted', machine ? 'machine_clicked' : 'clicked'] };
    case 'Complaint':
      if (complaint === 'suppressed') return notSent('complained');
      // The recipient takes back what a filter or somebody else said of the mail.
      if (complaint === 'not-spam') return { kinds: ['accepted', 'delivered'] };
      return { kinds: ['accepted', 'complained'], suppress: 'complained' };
    case 'Bounce':
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
 * SES has the address on its own suppression list and sent nothing. That is no bounce or complaint of this mailing, so
 * it counts for no limit and no warming; SES will send nothing to the address, and so shall we.
 */
function notSent(suppress: 'bounced' | 'complained'): Told {
  return { kinds: ['rejected'], rejected: 'INVALID_RECIPIENT', suppress };
}

/**
 * A mailbox that is full says nothing of the next mail, and an automatic reply nothing at all. What SES calls transient
 * suppresses nobody, whatever its code (`Transient`, `General`, 5.3.0): the code is of a mail system, SES has tried for
 * hours and holds the address for good, and a wrong suppression is noticed by nobody. A server that refuses the sender or the
 * content (RFC 3463 §3.8: 5.7.x) says nothing of the address: another newsletter may reach it.
 */
function bounced(bounce: Bounce): Told {
  if (isSuppressed(bounce)) return notSent('bounced');
  const error = errorOfBounce(bounce);
  if (error !== 'INVALID_RECIPIENT')
    return { kinds: error === undefined ? ['accepted'] : ['accepted', 'soft_bounced'] };
  const isPolicy = /^5\.7\./.test(bounce.status ?? '');
  return { kinds: ['accepted', 'bounced'], ...(!isPolicy && { suppress: 'bounced' }) };
}
