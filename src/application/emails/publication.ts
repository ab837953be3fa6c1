import type * as v from 'valibot';
import { ConversionTooSlowError } from '../../adapters/content/html-text.ts';
import { parseSegment } from '../../adapters/nql/parse-segment.ts';
import { defined } from '../../core/model/collections.ts';
import { type FieldFault, Problem } from '../../core/model/problem.ts';
import { type Clock, parseTime } from '../../core/model/time.ts';
import { SegmentError } from '../../core/newsletter/audience/segment.ts';
import type { Publication } from '../../core/newsletter/lifecycle/publish.ts';
import { type EmailContent, missingIdentification, type Newsletter } from '../../core/newsletter/model/email.ts';
import { mergeFieldRefusal } from '../../core/newsletter/model/merge-fields.ts';
import type { EmailStore, NewsletterStore } from '../../core/newsletter/model/ports.ts';
import { foreignSenders, fromAddress } from '../../core/newsletter/model/senders.ts';
import { ALL_PARTS } from '../../core/newsletter/sending/test-mail.ts';
import { MAX_BODY, type replaceSchema } from '../contract/api/emails.ts';

export type EmailRequest = v.InferOutput<typeof replaceSchema>;

export interface PublicationDeps {
  readonly newsletters: Pick<NewsletterStore, 'read' | 'senders' | 'sendersAt'>;
  readonly emails: Pick<EmailStore, 'read'>;
  /** Why the provider would refuse the sender, and what to do; undefined: it would not. */
  readonly senderFault: (from: string) => Promise<string | undefined>;
  /** The stage publishes no mail that does not say who sends it. */
  readonly require_address?: boolean;
  readonly clock: Clock;
}

const YEAR_MS = 366 * 86_400_000;

/**
 * Checks what no schema can: that the newsletter exists, that segment and post can be read, that the merge fields exist,
 * that the time is to come, that the sender is verified. All that is wrong is named at once, and nothing was stored.
 * @param ids of the publication: a repeated request is not refused because its time has come meanwhile
 * @throws Problem
 */
export async function toPublication(
  request: EmailRequest,
  ids: Pick<Publication, 'email_id' | 'request_hash' | 'tenant_id'>,
  deps: PublicationDeps,
): Promise<{
  readonly publication: Publication;
  readonly repeat: boolean;
  /** What the mail lacks, as sentences. */
  readonly warnings?: readonly string[];
}> {
  const { newsletter_id, segment, delivery_window_minutes } = request;
  const [newsletter, stored] = await Promise.all([
    deps.newsletters.read(ids.tenant_id, newsletter_id),
    deps.emails.read(ids.email_id),
  ]);
  const scheduled_at = request.scheduled_at && parseTime(request.scheduled_at)?.toISOString();
  const repeat = stored !== undefined;
  const missing = newsletter && missingIdentification(newsletter);
  const content = readable(request, newsletter, [
    ...(await postFaults(request, newsletter)),
    !repeat && scheduled_at !== undefined && timeFault(scheduled_at, deps.clock()),
    !repeat && newsletter !== undefined && (await senderFault(newsletter, deps)),
    !repeat && deps.require_address === true && missing !== undefined && identificationFault(missing),
  ]);
  const publication = defined({ ...ids, content, segment, scheduled_at, delivery_window_minutes });
  return { publication, repeat, ...(missing !== undefined && { warnings: [missing] }) };
}

/** What a post says, whether or not it may be published as it is. @throws Problem where it cannot be rendered */
export async function contentOf(
  tenant_id: string,
  request: EmailRequest,
  { newsletters }: Pick<PublicationDeps, 'newsletters'>,
): Promise<EmailContent> {
  const newsletter = await newsletters.read(tenant_id, request.newsletter_id);
  return readable(request, newsletter, await postFaults(request, newsletter));
}

type Fault = FieldFault | undefined | false;

async function postFaults(
  { newsletter_id, subject, preheader, body, format, segment }: EmailRequest,
  newsletter: Newsletter | undefined,
): Promise<readonly Fault[]> {
  return [
    newsletter === undefined && unknownNewsletter(newsletter_id),
    await segmentFault(segment),
    await bodyFault(defined({ subject, preheader, body, format, newsletter: newsletter ?? UNKNOWN })),
  ];
}

/** @throws Problem that names all that is wrong */
function readable(
  { subject, preheader, body, format }: EmailRequest,
  newsletter: Newsletter | undefined,
  found: readonly Fault[],
): EmailContent {
  const faults = found.filter((fault) => fault !== undefined && fault !== false);
  const fields = mergeFieldRefusal({ subject, preheader, body, format });
  if (newsletter === undefined || faults.length > 0 || fields !== undefined) {
    const sentences = [...faults.map(({ message }) => message), ...(fields ? [fields.message] : [])];
    throw new Problem('invalid-request', sentences.join(' '), { errors: [...faults, ...(fields?.errors ?? [])] });
  }
  return defined({ subject, preheader, body, format, newsletter });
}

function unknownNewsletter(newsletter_id: string): FieldFault {
  const message = `There is no newsletter ${newsletter_id}: PUT /v1/newsletters/${newsletter_id} makes it.`;
  return { path: 'newsletter_id', rule: 'existing_newsletter', message };
}

async function segmentFault(segment: string | undefined): Promise<FieldFault | undefined> {
  try {
    await parseSegment(segment);
    return undefined;
  } catch (error) {
    if (!(error instanceof SegmentError)) throw error;
    return { path: 'segment', rule: 'segment', message: error.message };
  }
}

/** Stands for a newsletter that does not exist, so that what else is wrong is named with it. */
const UNKNOWN: Newsletter = { tenant_id: '', newsletter_id: '', name: '', from: '', created_at: '', updated_at: '' };

/** SES takes a call of 1 MB with an inline template; the rest is for 50 recipients. */
const MAX_RENDERED = 900_000;

/** Rendered whole, with all its parts: what a part or the text alternative makes impossible is refused before it is sent. */
async function bodyFault(content: EmailContent): Promise<FieldFault | undefined> {
  const bytes = Buffer.byteLength(content.body);
  if (bytes > MAX_BODY) {
    const message = `The body has ${bytes} bytes in UTF-8; at most ${MAX_BODY} are possible: shorten it.`;
    return { path: 'body', rule: 'max_bytes', message };
  }
  // With the HTML parser, which most requests do without.
  const { PostError, renderChecked } = await import('../../adapters/post/post-renderer.ts');
  try {
    const rendered = Buffer.byteLength(JSON.stringify(await renderChecked(content, ALL_PARTS)));
    if (rendered <= MAX_RENDERED) return undefined;
    const message = `The post has ${rendered} bytes as HTML and text; SES takes ${MAX_RENDERED}: shorten it.`;
    return { path: 'body', rule: 'max_bytes', message };
  } catch (error) {
    if (error instanceof SegmentError) {
      return { path: 'body', rule: 'segment', message: `A part of the body has no valid segment: ${error.message}` };
    }
    if (error instanceof PostError) return { path: 'body', rule: error.rule, message: error.message };
    if (!(error instanceof ConversionTooSlowError || error instanceof RangeError)) throw error;
    return { path: 'body', rule: 'readable', message: 'The body cannot be converted: make it simpler or shorter.' };
  }
}

function identificationFault(missing: string): FieldFault {
  const message = `${missing} The stage refuses a mail that does not (newsletter.requireAddress).`;
  return { path: 'newsletter_id', rule: 'identification', message };
}

function timeFault(scheduled_at: string, now: Date): FieldFault | undefined {
  const ahead = Date.parse(scheduled_at) - now.getTime();
  if (ahead > 0 && ahead <= YEAR_MS) return undefined;
  const what =
    ahead > 0 ? 'is more than a year ahead: choose an earlier one' : 'has passed: leave it out to send at once';
  return { path: 'scheduled_at', rule: ahead > 0 ? 'max_value' : 'future', message: `The scheduled time ${what}.` };
}

async function senderFault(newsletter: Newsletter, deps: PublicationDeps): Promise<FieldFault | undefined> {
  if ((await foreignSenders(newsletter, deps.newsletters)).length > 0) {
    const message = `This tenant may not write as ${newsletter.from} (any more): an operator allows it by \`ops senders allow\`.`;
    return { path: 'newsletter_id', rule: 'allowed_sender', message };
  }
  const senders = [false, true].map((fallback) => fromAddress(newsletter, { fallback_sending_domain: fallback }));
  for (const sender of new Set(senders)) {
    const message = await deps.senderFault(sender);
    if (message !== undefined) return { path: 'newsletter_id', rule: 'verified_sender', message };
  }
  return undefined;
}
