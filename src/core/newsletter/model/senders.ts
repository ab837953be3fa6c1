import { defined } from '../../model/collections.ts';
import { Problem } from '../../model/problem.ts';
import type { Clock } from '../../model/time.ts';
import type { Batch } from './batch.ts';
import type { Newsletter } from './email.ts';
import type { NewsletterStore } from './ports.ts';

/** An address or `*@domain` as it is compared: in lower case, the domain in ASCII. Undefined for what is neither. */
export function senderEntry(text: string): string | undefined {
  const [, local = '', domain = ''] = /^([^\s@<>"(),:;]+)@([^\s@<>"(),:;/?#\\]+)$/.exec(text.trim()) ?? [];
  const host = hostOf(domain);
  if (local === '' || host === undefined || (local.includes('*') && local !== '*')) return undefined;
  return `${local.toLowerCase()}@${host}`;
}

/** A domain as it is compared; undefined for none. */
export function hostOf(domain: string): string | undefined {
  try {
    const { hostname } = new URL(`http://${domain}`);
    return /^(?=.{3,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(hostname) && !/\.\d+$/.test(hostname) ? hostname : undefined;
  } catch {
    return undefined;
  }
}

/** Whether one of the entries names the address. */
const names = (address: string, entries: readonly string[]): boolean =>
  entries.some((entry) => entry === address || entry === address.replace(/^.*@/, '*@'));

type SenderStore = Pick<NewsletterStore, 'senders' | 'sendersAt' | 'own_senders_only'>;

type Addresses = Pick<Newsletter, 'from' | 'sending_domain' | 'fallback_domain'>;

function addressesOf({ from, sending_domain, fallback_domain }: Addresses) {
  const at = (domain: string) => from.replace(/@[^@>\s]+(>?)\s*$/, `@${domain}$1`);
  return [
    ['from', from],
    ['sending_domain', sending_domain && at(sending_domain)],
    ['fallback_domain', fallback_domain && at(fallback_domain)],
  ] as const;
}

/**
 * The fields of a newsletter that make an address as which its tenant may not write. One with entries writes as these;
 * one without, as whomever the stage lets it (by a setting: as nobody), but not as who is another's: that has its
 * reputation and its warming.
 */
export async function foreignSenders(
  newsletter: Addresses & Pick<Newsletter, 'tenant_id'>,
  store: SenderStore,
): Promise<(keyof Addresses)[]> {
  const own = await store.senders(newsletter.tenant_id);
  const read = new Map<string, Promise<readonly string[]>>();
  const ofOthers = (domain: string) => {
    const entries = read.get(domain) ?? store.sendersAt(domain);
    read.set(domain, entries);
    return entries;
  };
  const mayWriteAs = async (from: string) => {
    const address = senderEntry(/<([^<>]*)>\s*$/.exec(from)?.[1] ?? from);
    if (own.length > 0 || store.own_senders_only === true) return address !== undefined && names(address, own);
    return address === undefined || !names(address, await ofOthers(address.replace(/^.*@/, '')));
  };
  const fields = await Promise.all(
    addressesOf(newsletter).map(async ([field, address]) =>
      address === undefined || (await mayWriteAs(address)) ? [] : [field],
    ),
  );
  return fields.flat();
}

/** What says as whom a newsletter is sent. */
export type Writing = Pick<Newsletter, 'tenant_id' | 'newsletter_id'> & Addresses;

/**
 * Names a newsletter that is sent as an address which the stage's right to send does not name. AWS compares the part
 * before the @ with its capitals, and senderEntry does not: what is allowed here is refused there, mail by mail.
 */
export function beyondStage(writing: readonly Writing[], stage: readonly string[]): string | undefined {
  const named = stage.map(withHost);
  const beyond = writing.flatMap((newsletter) =>
    addressesOf(newsletter).flatMap(([, text]) => {
      const address = text && withHost(/<([^<>]*)>\s*$/.exec(text)?.[1] ?? text.trim());
      const isNamed = !address || named.includes(address) || named.includes(address.replace(/^.*@/, '*@'));
      return isNamed ? [] : [{ ...newsletter, address }];
    }),
  );
  const [first] = beyond;
  if (first === undefined) return undefined;
  const { tenant_id, newsletter_id, address } = first;
  const nearly = named.find((one) => one.toLowerCase() === address.toLowerCase());
  const has = nearly ?? `neither it nor ${address.replace(/^.*@/, '*@')}`;
  const others = beyond.length > 1 ? `, as ${beyond.length - 1} more addresses` : '';
  return `SES may refuse ${newsletter_id} of ${tenant_id}, which is from ${address}${others}: newsletter.senders has ${has}.`;
}

const withHost = (sender: string) => sender.replace(/[^@]+$/, (domain) => hostOf(domain) ?? domain);

/** What the API says of them. */
export const FOREIGN_SENDER =
  'must be an address as which this tenant may write: an operator allows it by `ops senders allow`';

type Ids = 'tenant_id' | 'newsletter_id';
type Fields = Omit<Newsletter, Ids | 'created_at' | 'updated_at'>;
/** A newsletter as somebody sets it up, checked by the schema. */
export type GivenNewsletter = Pick<Newsletter, Ids> &
  Pick<Fields, 'name' | 'from'> & { readonly [K in keyof Fields]?: Fields[K] | undefined };

/**
 * Makes a newsletter, or replaces one.
 * @param known_at `updated_at` of the one that somebody looked at, null for none; undefined replaces any
 * @throws Problem
 */
export async function putNewsletter(
  given: GivenNewsletter,
  { newsletters, clock }: { readonly newsletters: SenderStore & Pick<NewsletterStore, 'put'>; readonly clock: Clock },
  known_at?: string | null,
): Promise<Newsletter> {
  const { tenant_id, newsletter_id } = given;
  const present = defined(given);
  const foreign = await foreignSenders(present, newsletters);
  if (foreign.length > 0) {
    const errors = foreign.map((path) => ({ path, rule: 'allowed_sender', message: FOREIGN_SENDER }));
    throw new Problem('invalid-request', `${foreign.join(' and ')} ${FOREIGN_SENDER}`, { errors });
  }
  const at = clock().toISOString();
  const stored = await newsletters.put({ ...present, created_at: at, updated_at: at }, known_at);
  if (stored === undefined) {
    const what = known_at === null ? 'There is a newsletter' : 'Somebody has changed the newsletter';
    throw new Problem('conflict', `${what} ${newsletter_id} of ${tenant_id}: look at it again, then change it.`);
  }
  return stored;
}

/** How a mail of the newsletter goes out, whoever gets it. */
export function sentAs(newsletter: Newsletter, batch: Pick<Batch, 'fallback_sending_domain'>) {
  const { reply_to, track } = newsletter;
  const list_id = listId(newsletter);
  return {
    from: fromAddress(newsletter, batch),
    ...(list_id !== undefined && { list_id }),
    ...(reply_to !== undefined && { reply_to }),
    ...(track !== undefined && { track }),
  };
}

/**
 * Names the newsletter for programs that sort mail (RFC 2919): the same from each of its domains, and another one than
 * that of a tenant at the same domain.
 */
function listId({ tenant_id, newsletter_id, from }: Newsletter): string | undefined {
  const host = hostOf(/@([^@>\s]+)>?\s*$/.exec(from)?.[1] ?? '');
  const tenant = tenant_id.replaceAll(/[^\w-]/gu, (char) => `%${char.codePointAt(0)?.toString(16)}`);
  return host && `${newsletter_id}.${tenant}.${host}`;
}

/** The From address of a batch: that of the newsletter, at the sending domain or the fallback domain. */
export function fromAddress(
  newsletter: Newsletter,
  { fallback_sending_domain }: Pick<Batch, 'fallback_sending_domain'>,
) {
  const { from, sending_domain, fallback_domain } = newsletter;
  const domain = fallback_sending_domain ? fallback_domain : sending_domain;
  return domain === undefined ? from : from.replace(/@[^@>\s]+(>?)\s*$/, `@${domain}$1`);
}
