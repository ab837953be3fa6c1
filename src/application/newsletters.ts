import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import * as v from 'valibot';
import { createNewsletterStore } from '../adapters/dynamodb/newsletter/newsletter-store.ts';
import { toItem } from '../adapters/dynamodb/table/item.ts';
import { missingIdentification, type Newsletter } from '../core/newsletter/model/email.ts';
import type { NewsletterStore, SenderAction } from '../core/newsletter/model/ports.ts';
import { putNewsletter, senderEntry } from '../core/newsletter/model/senders.ts';
import { type Decision, decisionOf } from '../core/operator/audit.ts';
import { check, invalid } from '../http/check.ts';
import { newsletterId, newsletterSchema } from './contract/api/newsletters.ts';
import { fromCursor, placeOf, toCursor } from './cursor.ts';
import type { OperatorDeps } from './deps.ts';

export function newsletterStore({ dynamodb, deployment }: Pick<OperatorDeps, 'dynamodb' | 'deployment'>) {
  return createNewsletterStore(dynamodb, deployment.tables.newsletters, deployment.own_senders_only);
}

export const newsletterDeps = (deps: Pick<OperatorDeps, 'dynamodb' | 'deployment' | 'clock'>) => ({
  newsletters: newsletterStore(deps),
  clock: deps.clock,
});

/** A newsletter as its tenant sees it, with what its mails lack. */
export function shownNewsletter({
  tenant_id: _,
  ...newsletter
}: Newsletter): Omit<Newsletter, 'tenant_id'> & { readonly warnings?: readonly string[] } {
  const missing = missingIdentification(newsletter);
  return missing === undefined ? newsletter : { ...newsletter, warnings: [missing] };
}

/** Makes a newsletter, or replaces one; `known_at` as `putNewsletter` takes it. @throws Problem */
export async function decideNewsletter(
  asked: { readonly tenant: string; readonly newsletter_id: string; readonly known_at?: string | null },
  fields: object,
  deps: Parameters<typeof putNewsletter>[1],
): Promise<Decision<Newsletter>> {
  // Checked together with the fields, so that one answer names all faults.
  const whole = v.strictObject({ newsletter_id: newsletterId, ...newsletterSchema.entries });
  const checked = check(whole, { ...fields, newsletter_id: asked.newsletter_id });
  const { newsletter_id, from, sending_domain, fallback_domain, track } = checked;
  const given = { ...checked, tenant_id: asked.tenant };
  // Who writes to everybody and how it is tracked, as of `sender.allow`; `reply_to` may be a person's address.
  const details = { tenant: asked.tenant, from, sending_domain, fallback_domain, track };
  return decisionOf({ what: 'newsletter.put', on: [newsletter_id], details }, async () => ({
    answer: await putNewsletter(given, deps, asked.known_at),
    result: { stored: 1 },
  }));
}

/** @throws Problem invalid-request for what is neither an address nor `*@domain` */
export async function decideSender(
  asked: { readonly tenant: string; readonly sender: string; readonly action: SenderAction },
  newsletters: Pick<NewsletterStore, 'changeSenders'>,
): Promise<Decision<readonly string[]>> {
  const { tenant, action } = asked;
  const sender = senderEntry(asked.sender);
  if (sender === undefined) {
    const message = 'must be an address such as news@example.com, or *@example.com';
    throw invalid([{ path: 'sender', rule: 'address', message }]);
  }
  // An address of the tenant's own, as which it writes to everybody: the log may name it.
  const what = action === 'allow' ? 'sender.allow' : 'sender.revoke';
  return decisionOf({ what, on: [tenant, sender] }, async () => ({
    answer: await newsletters.changeSenders(tenant, action, sender),
    result: { changed: 1 },
  }));
}

const PAGE = 50;
const text = v.pipe(v.string(), v.minLength(1), v.maxLength(100));
const place = v.strictObject({ tenant_id: text, newsletter_id: text });

/** Newsletters are few: a scan of their small table, page by page. */
export async function listAllNewsletters(
  cursor: string | undefined,
  { dynamodb, deployment }: Pick<OperatorDeps, 'dynamodb' | 'deployment'>,
) {
  const after = fromCursor(placeOf(place), cursor);
  const { Items = [], LastEvaluatedKey } = await dynamodb.send(
    new ScanCommand({
      TableName: deployment.tables.newsletters,
      Limit: PAGE,
      // A form starts from this answer, and its `updated_at` decides whether the change is accepted: read consistently.
      ConsistentRead: true,
      // The senders of tenants are items of the table, too.
      FilterExpression: 'attribute_exists(#name)',
      ExpressionAttributeNames: { '#name': 'name' },
      ...(after && { ExclusiveStartKey: toItem(after) }),
    }),
  );
  const next = LastEvaluatedKey && unmarshall(LastEvaluatedKey);
  return { newsletters: Items.map((item) => unmarshall(item) as Newsletter), next_cursor: toCursor(next) };
}
