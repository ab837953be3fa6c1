import type { Newsletter } from './email.ts';

/** An address or `*@domain` as it is compared: in lower case, the domain in ASCII. Undefined for what is neither. */
export function senderEntry(text: string): string | undefined {
  const [, local = '', domain = ''] = /^([^\s@<>"(),:;]+)@([^\s@<>"(),:;/?#\\]+)$/.exec(text.trim()) ?? [];
  const host = hostOf(domain);
  if (local === '' || host === undefined || (local.includes('*') && local !== '*')) return undefined;
  return `${local.toLowerCase()}@${host}`;
}

function hostOf(domain: string): string | undefined {
  try {
    const { hostname } = new URL(`http://${domain}`);
    return /^(?=.{3,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(hostname) && !/\.\d+$/.test(hostname) ? hostname : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a tenant may write as the address. One without entries writes as whomever the stage lets it. */
function maySendAs(from: string, entries: readonly string[]): boolean {
  if (entries.length === 0) return true;
  const own = senderEntry(/<([^<>]*)>\s*$/.exec(from)?.[1] ?? from);
  return own !== undefined && entries.some((entry) => entry === own || entry === own.replace(/^.*@/, '*@'));
}

type Addresses = Pick<Newsletter, 'from' | 'sending_domain' | 'fallback_domain'>;

/** The fields of a newsletter that make an address as which its tenant may not write. */
export function foreignSenders(
  { from, sending_domain, fallback_domain }: Addresses,
  entries: readonly string[],
): (keyof Addresses)[] {
  const at = (domain: string) => from.replace(/@[^@>\s]+(>?)\s*$/, `@${domain}$1`);
  const addresses = [
    ['from', from],
    ['sending_domain', sending_domain && at(sending_domain)],
    ['fallback_domain', fallback_domain && at(fallback_domain)],
  ] as const;
  return addresses.flatMap(([field, address]) => (address === undefined || maySendAs(address, entries) ? [] : [field]));
}

/** What the API says of them. */
export const FOREIGN_SENDER =
  'must be an address as which this tenant may write: an operator allows it by `ops senders allow`';
