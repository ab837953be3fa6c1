import { defined } from '../../model/collections.ts';
import { Problem } from '../../model/problem.ts';
import { type Clock, HOUR_MS } from '../../model/time.ts';
import type { Email, EmailContent } from '../model/email.ts';
import { mergeValues } from '../model/merge-fields.ts';
import type { NewsletterStore } from '../model/ports.ts';
import type { BulkAnswer, BulkProvider, Renderings } from '../model/provider.ts';
import { FOREIGN_SENDER, foreignSenders, sentAs } from '../model/senders.ts';
import { limitNamedBy, refusalsIn } from './judge-answer.ts';
import type { LateExclusions, SendPacing } from './send-deps.ts';

/** Batch id in the tags of test mails: there is no such batch, so their events count for nobody. */
const TEST_BATCH = 'test';

export interface TestMailDeps {
  readonly provider: BulkProvider;
  readonly renderings: Renderings;
  readonly exclusions: LateExclusions;
  readonly newsletters: Pick<NewsletterStore, 'senders' | 'sendersAt'>;
  readonly pacing: SendPacing;
  /** Adds to the test mails of a tenant in an hour, in hours since the epoch, or takes back; says how many there are. */
  readonly countTests: (tenant_id: string, hour: number, mails: number) => Promise<number>;
  readonly clock: Clock;
  readonly pause: (ms: number) => Promise<void>;
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
/** Who reads a test mail, and a preview that is no member's; the link unsubscribes nobody. */
export const SAMPLE = { member_id: 'sample', member_uuid: 'sample', member_name: 'Sample Reader' } as const;
export const SAMPLE_LINK = 'https://example.com/unsubscribe';
const TIMEOUT_MS = 10_000;
/** Longest that a test mail takes, its call included: an API's request is answered with 503 after 15 seconds. */
const LONGEST_MS = 14_000;
/** Of it, the longest wait for the account's rate: ten addresses take 9.4 seconds in the sandbox of SES, at one a second. */
const WAIT_MS = 10_500;
/** Between two reservations: each is a write. */
const LEAST_WAIT_MS = 50;
/** Test mails of a tenant per hour: enough to look at a post, and no way to send one without its unsubscribe links. */
const MOST_TESTS = 100;

/**
 * Sends the post with sample values to a few addresses, but to none that is suppressed. No recipient is counted, and the
 * link in it unsubscribes nobody. It takes from the rate of newsletters, and goes out as no sender that is not the
 * tenant's now.
 * @throws Problem
 */
export async function sendTestMail(
  { email, content, to }: { readonly email: Email; readonly content: EmailContent; readonly to: readonly string[] },
  deps: TestMailDeps,
): Promise<readonly TestMailResult[]> {
  const { provider, renderings, exclusions, newsletters, pacing, clock } = deps;
  const begun = clock().getTime();
  const { tenant_id } = email;
  if ((await foreignSenders(content.newsletter, newsletters)).length > 0) {
    throw new Problem('conflict', `The sender of the newsletter ${FOREIGN_SENDER}.`);
  }
  const found = await exclusions.check(
    email,
    to.map((member_email) => ({ member_email })),
  );
  // Who unsubscribed may want to see a test of what they publish; a suppressed address harms the sender.
  const places = to.flatMap((_, index) => (found[index] === 'suppressed' ? [] : [index]));
  const results = to.map((_, index) => refused(index, 'suppressed'));
  if (places.length === 0) return results;
  const rendering = await renderings.of(email, content, { rendering: ALL_PARTS });
  await allow(tenant_id, places.length, deps, begun + WAIT_MS);
  const answer = await provider.send({
    ...sentAs(content.newsletter, { fallback_sending_domain: false }),
    rendering: { ...rendering, subject: ['[Test] ', ...rendering.subject] },
    entries: places.map((index) => {
      const address = to[index] ?? '';
      return {
        to: address,
        values: { ...mergeValues({ ...SAMPLE, member_email: address }), unsubscribe_url: SAMPLE_LINK },
        unsubscribe_url: SAMPLE_LINK,
        tags: { email_id: email.email_id, chunk: `${TEST_BATCH}-0`, n: String(index) },
      };
    }),
    timeout_ms: Math.min(TIMEOUT_MS, begun + LONGEST_MS - clock().getTime()),
  });
  const limited = limitNamedBy(refusalsIn(answer));
  if (limited !== undefined) await pacing.refused(limited).catch(() => undefined);
  for (const [place, index] of places.entries()) results[index] = resultOf(answer, place, index);
  return results;
}

/** Counts and reserves the mails; of what is refused, nothing counts. @throws Problem rate-limited */
async function allow(tenant_id: string, mails: number, deps: TestMailDeps, until: number): Promise<void> {
  const { countTests, clock } = deps;
  const at = clock().getTime();
  const hour = Math.floor(at / HOUR_MS);
  const counted = await countTests(tenant_id, hour, mails);
  try {
    if (counted > MOST_TESTS) {
      const retry_after_seconds = Math.ceil((HOUR_MS - (at % HOUR_MS)) / 1000);
      const why = `A tenant may send ${MOST_TESTS} test mails per hour.`;
      throw new Problem('rate-limited', why, { retry_after_seconds });
    }
    await reserveAll(mails, deps, until);
  } catch (error) {
    await countTests(tenant_id, hour, -mails).catch(() => undefined);
    throw error;
  }
}

/** All go in one call: on a slow account, and beside a mailing, their turns come a few at a time. */
async function reserveAll(mails: number, { pacing, clock, pause }: TestMailDeps, until: number): Promise<void> {
  for (let missing = mails; ; ) {
    const { granted, retry_at } = await pacing.reserve(missing);
    missing -= granted;
    const now = clock().getTime();
    const wait = retry_at === undefined ? 60_000 : Math.max(LEAST_WAIT_MS, Date.parse(retry_at) - now);
    if (missing <= 0) return;
    if (now + wait > until) {
      const why = 'The account sends all that it may just now; other mail goes first. Nothing was sent.';
      throw new Problem('rate-limited', why, { retry_after_seconds: Math.ceil(wait / 1000) });
    }
    await pause(wait);
  }
}

function resultOf(answer: BulkAnswer, place: number, index: number): TestMailResult {
  if (answer.kind === 'unknown')
    return refused(index, 'unknown', 'The provider gave no answer: it may have been sent.');
  const entry = answer.kind === 'answered' ? answer.entries[place] : { accepted: false as const, ...answer };
  if (entry?.accepted) return { index, accepted: true, message_id: entry.message_id };
  return refused(index, entry?.refusal.reason ?? 'unknown', entry?.refusal.message);
}

function refused(index: number, reason: string, message?: string): TestMailResult {
  return defined({ index, accepted: false, reason, message });
}
