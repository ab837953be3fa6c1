import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { createDeploymentClients } from '../../adapters/deployment/deployment-clients.ts';
import { findLocalDeployment } from '../../adapters/deployment/local-deployment.ts';
import { createMemberStore } from '../../adapters/dynamodb/newsletter/member-store.ts';
import { createMemberSealing } from '../../adapters/recipient/member-sealing.ts';
import { emailAccess } from '../../application/emails/email-access.ts';
import { requireEmail, showEmail } from '../../application/emails/emails.ts';
import { isOver } from '../../batch/sending-job/email-report.ts';
import { groupsOf } from '../../core/model/collections.ts';
import { publishEmail } from '../../core/newsletter/lifecycle/publish.ts';
import { type GivenMember, MAX_UPSERTS, upsertMembers } from '../../core/newsletter/members/upsert-members.ts';
import type { EmailView } from '../../core/newsletter/views/email-view.ts';
import { listRecipients, type RecipientView } from '../../core/newsletter/views/list-recipients.ts';
import { PROJECT_ROOT } from '../runtime/directories.ts';

/** The e-mail of the demo, and one of its recipients for each reason for which somebody gets none. */
export interface NewsletterReport {
  /** Of the newsletter, before anybody is left out. */
  readonly members: number;
  readonly view: EmailView;
  readonly examples: readonly RecipientView[];
}

export interface DemoNewsletter {
  readonly members: number;
  /** Reports each step until the e-mail is sent, or until SES has told of it; at most for a minute. */
  follow(until: 'sent' | 'told', onStep: (step: string) => void, signal: AbortSignal): Promise<NewsletterReport>;
  close(): void;
}

const LOOK_EVERY_MS = 500;
const LONGEST_MS = 60_000;
const MANY = 1_000;

/** Stores the sample members and publishes an e-mail to them, as the API does. */
export async function publishSampleNewsletter(): Promise<DemoNewsletter> {
  const deployment = await findLocalDeployment(PROJECT_ROOT);
  const clients = createDeploymentClients(deployment);
  const clock = () => new Date();
  const access = emailAccess({ deployment, ...clients, clock, newId: randomUUID });
  const members = createMemberStore(clients.dynamodb, deployment.tables.members, clock);
  const sealing = createMemberSealing(deployment.sealer(clients.dynamodb), deployment.recipientHashKey);
  const { tenant_id, newsletter_id } = SAMPLE_NEWSLETTER;
  const at = clock().toISOString();
  const newsletter = { ...SAMPLE_NEWSLETTER, created_at: at, updated_at: at };
  await access.newsletters.put(newsletter);
  const given = sampleMembers();
  const deps = { members, sealing, clock, newId: randomUUID };
  for (const some of groupsOf(given, MAX_UPSERTS)) await upsertMembers(tenant_id, some, deps);
  for (const { email, facts } of given) {
    if (facts === undefined) continue;
    const hash = await sealing.emailHash(tenant_id, email);
    if (facts === 'suppressed') await members.suppress(tenant_id, hash, { reason: 'operator', at });
    else await members.unsubscribe(tenant_id, hash, newsletter_id, at);
  }
  // Short, so that commands with it fit into a line.
  const email_id = `demo-${randomUUID().slice(0, 8)}`;
  const content = { ...SAMPLE_POST, newsletter };
  await publishEmail({ email_id, request_hash: email_id, tenant_id, content }, access);
  return {
    members: given.length,
    async follow(until, onStep, signal) {
      const isReached = until === 'sent' ? isOver : isTold;
      const end = Date.now() + LONGEST_MS;
      let shown: string | undefined;
      for (;;) {
        const view = (await showEmail(email_id, access)).view;
        const step = until === 'sent' ? stepOf(view) : isTold(view) ? 'newsletter: SES has told of each mail' : shown;
        if (step !== undefined && step !== shown) onStep(step);
        shown = step;
        if (isReached(view) || Date.now() > end) {
          return { members: given.length, view, examples: await examplesOf(email_id, access) };
        }
        await setTimeout(LOOK_EVERY_MS, undefined, { signal });
      }
    },
    close: () => clients.destroy(),
  };
}

/** One line per phase: how far it is in between is for a person who waits, and this takes seconds. */
function stepOf(view: EmailView): string {
  if (!isOver(view)) return `newsletter: ${view.phase}`;
  return `newsletter: SES took ${view.counts.submitted} mails`;
}

/** SES has told what became of every mail. */
function isTold(view: EmailView): boolean {
  const { submitted, delivered, bounced } = view.counts;
  return isOver(view) && delivered + bounced >= submitted;
}

async function examplesOf(email_id: string, access: ReturnType<typeof emailAccess>): Promise<readonly RecipientView[]> {
  const email = await requireEmail(email_id, access);
  const { recipients } = await listRecipients({ email, limit: MANY, identities: false }, access);
  const byReason = new Map<string, RecipientView>();
  for (const one of recipients) {
    if (one.reason !== undefined && !byReason.has(one.reason)) byReason.set(one.reason, one);
  }
  return [...byReason.values()];
}

const SAMPLE_NEWSLETTER = {
  tenant_id: 'TENANT001',
  newsletter_id: 'weekly',
  name: 'Weekly',
  from: 'Weekly <weekly@example.com>',
} as const;

const SAMPLE_POST = {
  subject: 'This week, {first_name, "reader"} / 今週のお知らせ',
  format: 'markdown',
  body: `# This week

Dear {name, "reader"},

- the certificate exam is on **5 December**
- the report of November is [ready](https://example.com/reports/11)

<div data-gh-segment="status:free">Become a member: you would see the archive.</div>`,
} as const;

export const SAMPLE_MEMBERS = 300;

/** What becomes of some of the members; the others just get their mail. */
interface Fate {
  /** Their number, from the first member on that has none yet. */
  readonly count: number;
  /** Word in the address, which the local SES goes by (src/local/providers/ses/mail-outcome.ts). */
  readonly word?: string;
  /** An address that no mail can be sent to, or that of another member. */
  readonly address?: 'malformed' | 'repeated';
  readonly facts?: 'suppressed' | 'unsubscribed';
}

const FATES: readonly Fate[] = [
  { count: 40, word: 'open' },
  { count: 12, word: 'click' },
  { count: 4, word: 'bounce' },
  { count: 1, word: 'complaint' },
  { count: 2, word: 'missing' },
  { count: 3, word: 'flaky-1' },
  { count: 3, facts: 'suppressed' },
  { count: 2, facts: 'unsubscribed' },
  { count: 2, address: 'repeated' },
  { count: 2, address: 'malformed' },
];

interface SampleMember extends GivenMember {
  readonly facts?: Fate['facts'];
}

/** Members of every kind: who reads, who cannot be reached, and who is excluded for each reason. */
export function sampleMembers(): readonly SampleMember[] {
  const fates = FATES.flatMap((fate) => Array.from({ length: fate.count }, () => fate));
  return Array.from({ length: SAMPLE_MEMBERS }, (_, i) => {
    const { word = 'reader', address, facts } = fates[i] ?? {};
    const number = address === 'repeated' ? SAMPLE_MEMBERS - 1 : i;
    const email = address === 'malformed' ? `reader ${i} at example` : `${word}+${number}@example.com`;
    return {
      member_id: `member-${String(i + 1).padStart(3, '0')}`,
      // Of two members with one address the first is the recipient.
      email: address === 'repeated' ? `reader+${number}@example.com` : email,
      ...(i % 3 === 0 && { name: `Reader ${i + 1}` }),
      status: i % 4 === 0 ? ('paid' as const) : ('free' as const),
      newsletters: [SAMPLE_NEWSLETTER.newsletter_id],
      ...(facts && { facts }),
    };
  });
}
