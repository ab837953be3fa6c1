import type { Email, EmailContent } from '../model/email.ts';
import { mergeValues } from '../model/merge-fields.ts';
import type { BulkAnswer, BulkProvider } from '../model/provider.ts';
import { type LateExclusions, type Renderings, sentAs } from './send-deps.ts';

/** Batch id in the tags of test mails: there is no such batch, so their events count for nobody. */
const TEST_BATCH = 'test';

export interface TestMailDeps {
  readonly provider: BulkProvider;
  readonly renderings: Renderings;
  readonly exclusions: LateExclusions;
}

export interface TestMailResult {
  /** Place in the list of addresses, from 0. */
  readonly index: number;
  readonly accepted: boolean;
  readonly message_id?: string;
  /** Why it was not accepted. */
  readonly reason?: string;
  readonly message?: string;
}

/** Every part of the post is shown, whoever it is for. */
export const ALL_PARTS = 2 ** 30 - 1;
const TIMEOUT_MS = 10_000;

/**
 * Sends the post with sample values to a few addresses, but to none that is suppressed. No recipient is counted, and the
 * link in it unsubscribes nobody.
 */
export async function sendTestMail(
  { email, content, to }: { readonly email: Email; readonly content: EmailContent; readonly to: readonly string[] },
  { provider, renderings, exclusions }: TestMailDeps,
): Promise<readonly TestMailResult[]> {
  const found = await exclusions.check(
    email,
    to.map((member_email) => ({ member_email })),
  );
  // Who unsubscribed may want to see a test of what they publish; a suppressed address harms the sender.
  const places = to.flatMap((_, index) => (found[index] === 'suppressed' ? [] : [index]));
  const results = to.map((_, index): TestMailResult => ({ index, accepted: false, reason: 'suppressed' }));
  if (places.length === 0) return results;
  const rendering = await renderings.of(email, content, { rendering: ALL_PARTS });
  const unsubscribe_url = 'https://example.com/unsubscribe';
  const answer = await provider.send({
    ...sentAs(content.newsletter, { fallback_sending_domain: false }),
    rendering: { ...rendering, subject: `[Test] ${rendering.subject}` },
    entries: places.map((index) => {
      const address = to[index] ?? '';
      return {
        to: address,
        values: {
          ...mergeValues({
            member_id: 'sample',
            member_uuid: 'sample',
            member_email: address,
            member_name: 'Sample Reader',
          }),
          unsubscribe_url,
        },
        unsubscribe_url,
        tags: { email_id: email.email_id, chunk: `${TEST_BATCH}-0`, n: String(index) },
      };
    }),
    timeout_ms: TIMEOUT_MS,
  });
  for (const [place, index] of places.entries()) results[index] = { ...resultOf(answer, place), index };
  return results;
}

function resultOf(answer: BulkAnswer, index: number): TestMailResult {
  if (answer.kind === 'unknown') {
    return {
      index,
      accepted: false,
      reason: 'unknown',
      message: 'The provider gave no answer: it may have been sent.',
    };
  }
  const entry = answer.kind === 'answered' ? answer.entries[index] : { accepted: false as const, ...answer };
  if (entry === undefined) return { index, accepted: false, reason: 'unknown' };
  if (entry.accepted) return { index, accepted: true, message_id: entry.message_id };
  const { reason, message } = entry.refusal;
  return { index, accepted: false, reason, ...(message !== undefined && { message }) };
}
