import { filledIn } from '../../adapters/content/addresses.ts';
import { parseSegment } from '../../adapters/nql/parse-segment.ts';
import { defined } from '../../core/model/collections.ts';
import { parseTime } from '../../core/model/time.ts';
import { placeAt, withoutUnsubscribed } from '../../core/newsletter/audience/candidates.ts';
import { segmentMatcher } from '../../core/newsletter/audience/segment.ts';
import { clippedByGmail } from '../../core/newsletter/lifecycle/gmail-limit.ts';
import { newEmail } from '../../core/newsletter/lifecycle/publish.ts';
import { UnreadableChunkError } from '../../core/newsletter/model/batch.ts';
import { type Email, type EmailContent, missingIdentification } from '../../core/newsletter/model/email.ts';
import { mergeValues, missingFields } from '../../core/newsletter/model/merge-fields.ts';
import type { MemberStore, Sealing } from '../../core/newsletter/model/ports.ts';
import { sentAs } from '../../core/newsletter/model/senders.ts';
import { renderingKey } from '../../core/newsletter/preparation/open-batches.ts';
import { neededUses } from '../../core/newsletter/preparation/tally.ts';
import { beginOf, whyExcluded } from '../../core/newsletter/sending/exclusion-checks.ts';
import { ALL_PARTS, SAMPLE, SAMPLE_LINK } from '../../core/newsletter/sending/test-mail.ts';
import { findRecipient } from '../../core/newsletter/views/list-recipients.ts';
import { type Decision, decisionOf } from '../../core/operator/audit.ts';
import { requireMember } from '../members/members.ts';
import type { DraftDeps } from './drafts.ts';
import { contentOf, type EmailRequest } from './publication.ts';

export interface PreviewDeps extends DraftDeps {
  readonly members: Pick<MemberStore, 'find' | 'facts'>;
  readonly sealing: Pick<Sealing, 'openMember' | 'emailHash'>;
}

/** A mail as one reader gets it. */
export type MailPreview = Awaited<ReturnType<typeof filledFor>>;

interface Previewed {
  readonly email: Email;
  readonly content: EmailContent;
  /** Without an id that could be looked up. */
  readonly unstored?: true;
}

/** The reader, the rendering, and notes about both, as sentences. */
interface Reader {
  readonly recipient: Parameters<typeof mergeValues>[0];
  readonly rendering: number;
  readonly fallback_sending_domain: boolean;
  readonly notes: readonly string[];
}

/** Previews a draft, also one that could not be published yet. @throws Problem where it cannot be rendered */
export async function previewedDraft(tenant_id: string, request: EmailRequest, deps: DraftDeps): Promise<Previewed> {
  const content = await contentOf(tenant_id, request, deps);
  const { segment } = request;
  const scheduled_at = request.scheduled_at && parseTime(request.scheduled_at)?.toISOString();
  const publication = defined({ email_id: deps.newId(), tenant_id, request_hash: '', content, segment, scheduled_at });
  return { email: newEmail(publication, deps), content, unstored: true };
}

/**
 * The mail as a member gets it, or would get it: a mailing that was prepared as it was frozen. The audit log keeps who was
 * shown a member's values. Without a member: sample values, in all parts. Its links unsubscribe nobody.
 * @throws Problem not-found
 */
export async function previewOf(
  previewed: Previewed,
  member_id: string | undefined,
  deps: PreviewDeps,
): Promise<Decision<MailPreview>> {
  const { tenant_id: tenant, newsletter_id: newsletter, email_id } = previewed.email;
  const member = member_id === undefined ? undefined : await requireMember(tenant, member_id, deps);
  const on = [member_id ?? '', ...(previewed.unstored ? [] : [email_id])];
  const audit = member && ({ what: 'email.preview', on, details: { tenant, newsletter }, shows: true } as const);
  return decisionOf(audit, async () => {
    const reader = member === undefined ? SAMPLE_READER : await readerOf(previewed, member, deps);
    return { answer: await filledFor(reader, previewed, deps, member?.member_id), result: { shown: 1 } };
  });
}

const SAMPLE_READER: Reader = {
  recipient: { ...SAMPLE, member_email: 'sample@example.com' },
  rendering: ALL_PARTS,
  fallback_sending_domain: false,
  notes: [],
};

type Member = Awaited<ReturnType<typeof requireMember>>;

async function readerOf({ email, content }: Previewed, member: Member, deps: PreviewDeps): Promise<Reader> {
  const { email_id, tenant_id, newsletter_id, segment, submitting_at, scheduled_at, created_at, prepared } = email;
  const { member_id, member_uuid, email_hash } = member;
  const frozen = prepared && (await frozenOf(email, member, deps));
  if (frozen !== undefined && 'member_email' in frozen && frozen.state !== 'excluded') {
    const { member_email = '', member_name, state } = frozen;
    const batch = await deps.batches.read(email_id, frozen.batch_id);
    const recipient = defined({ member_id, member_uuid: frozen.member_uuid, member_email, member_name });
    const { rendering = 0, fallback_sending_domain = false } = batch ?? {};
    return { recipient, rendering, fallback_sending_domain, notes: [FROZEN[state]] };
  }
  const facts = (await deps.members.facts(tenant_id, [email_hash])).get(email_hash);
  const subject = withoutUnsubscribed(member, facts);
  const { rendering } = renderingKey(await deps.parts.of(email, content), subject);
  const identity = await deps.sealing.openMember(member);
  const recipient = defined({ member_id, member_uuid, member_email: identity.email, member_name: identity.name });
  const why = () =>
    whyExcluded(facts, newsletter_id, beginOf(email)) ??
    (member.newsletters.includes(newsletter_id) ? undefined : 'not subscribed');
  const matches = async () =>
    segment === undefined ||
    segmentMatcher(await parseSegment(segment), new Date(submitting_at ?? scheduled_at ?? created_at))(subject);
  const notes =
    prepared === undefined
      ? leftOut(why() ?? ((await matches()) ? undefined : `not in the segment ${segment}`))
      : [AFTER[frozen?.state ?? 'none'] ?? `The member did not get it: ${reasonOf(frozen)}.`];
  return { recipient, rendering, fallback_sending_domain: false, notes };
}

/** What became of a mailing's recipient. */
const FROZEN = {
  submitted: 'The member was sent this.',
  pending: 'The member is to be sent this.',
  failed: 'This could not be sent to the member.',
  uncertain: 'Nobody knows whether the member was sent this.',
} as const;

/** Why a member of a prepared mailing is shown as it is now, and not as it was frozen. */
const AFTER: Readonly<Record<string, string>> = {
  none: 'The member is none of its recipients: this is what it would get now.',
  expired: 'Its recipients are not kept any more: this is what the member would get now.',
  unreadable: 'Its recipients were altered: this is what the member would get now.',
};

const reasonOf = (frozen: object | undefined): string =>
  frozen !== undefined && 'reason' in frozen ? String(frozen.reason) : 'excluded';
const leftOut = (why: string | undefined) => (why === undefined ? [] : [`The member would not get it: ${why}.`]);

async function frozenOf(email: Email, member: Member, { batches, chunks, events, sealing }: PreviewDeps) {
  const place = { member_id: member.member_id, email_hash: placeAt(beginOf(email), member) };
  const hashOf = (address: string) => sealing.emailHash(email.tenant_id, address);
  try {
    return await findRecipient(email.email_id, place, { batches, chunks, events, hashOf }, { identities: true });
  } catch (error) {
    if (error instanceof UnreadableChunkError) return { state: 'unreadable' } as const;
    throw error;
  }
}

async function filledFor(
  { recipient, rendering, fallback_sending_domain, notes }: Reader,
  { email, content }: Previewed,
  { renderings }: PreviewDeps,
  member_id: string | undefined,
) {
  const made = await renderings.of(email, content, { rendering });
  const values = { ...mergeValues(recipient), unsubscribe_url: SAMPLE_LINK };
  const subject = filledIn(made.subject, values, 'text');
  const { from, reply_to, list_id } = sentAs(content.newsletter, { fallback_sending_domain });
  const headers = defined({
    From: from,
    To: recipient.member_email,
    'Reply-To': reply_to,
    Subject: subject,
    'List-ID': list_id && `<${list_id}>`,
    'List-Unsubscribe': `<${SAMPLE_LINK}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  });
  const missing = missingFields(neededUses(content), recipient).map((field) => `{${field}}`);
  const lacks = `The member has no ${missing.join(', no ')}, and the post no fallback for it: the e-mail would not be sent.`;
  const clipped = await clippedByGmail(email, content, { [rendering]: 1 }, renderings);
  return {
    ...(member_id !== undefined && { member_id }),
    subject,
    headers: headers as Readonly<Record<string, string>>,
    // The attribute is an instruction for SES, which removes it.
    html: filledIn(made.html, values, 'html').replaceAll(' ses:no-track', ''),
    text: filledIn(made.text, values, 'text'),
    notes: [
      ...notes,
      ...(missing.length > 0 ? [lacks] : []),
      ...[missingIdentification(content.newsletter), clipped].filter((one) => one !== undefined),
    ],
  };
}
