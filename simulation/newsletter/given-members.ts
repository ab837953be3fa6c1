import { mailbox } from '../../src/adapters/email/address.ts';
import type { AddressFacts, MemberIdentity, StoredMember } from '../../src/core/newsletter/model/member.ts';
import type { AddressEntry, MemberStore, Sealing } from '../../src/core/newsletter/model/ports.ts';
import { START } from '../engine/start.ts';

export const TENANT = 'tenant-1';
export const NEWSLETTER = 'news';

const PAGE = 100;
const DIGITS = 8;
/** Of a thousand members each: five have the address of the one before, ten are suppressed, one has a wrong address. */
const REPEATED = 200;
const SUPPRESSED = 100;
const MALFORMED = 1_000;

const numbered = (number: number) => String(number).padStart(DIGITS, '0');
const isRepeated = (member: number) => member % REPEATED === REPEATED - 1;
const isSuppressed = (member: number) => member % SUPPRESSED === 50;
const isMalformed = (member: number) => member % MALFORMED === 501;

/** The number of the member that an address belongs to first. */
export const memberOf = (address: string) => Number(address.slice(1, 1 + DIGITS));

function addressOf(member: number): string {
  const owner = isRepeated(member) ? member - 1 : member;
  return `m${numbered(owner)}${isMalformed(member) ? '' : '@example.test'}`;
}

/**
 * A million members without a table: member n is made when it is read. Their hashes are their numbers, so that the order
 * of the hashes is that of the members.
 */
export class GivenMembers {
  readonly count: number;
  readonly #unsubscribed = new Set<string>();
  readonly #suppressed = new Set<string>();

  constructor(count: number) {
    this.count = count;
  }

  /** The member unsubscribes from the newsletter. */
  unsubscribe(member: number): void {
    this.#unsubscribed.add(numbered(member));
  }

  readonly store: Pick<MemberStore, 'addresses' | 'facts' | 'suppress' | 'read'> = {
    addresses: (_, after) => this.#pages(after === undefined ? 0 : Number(after) + 1),
    facts: async (_, hashes) =>
      new Map(
        hashes.flatMap((hash) => {
          const facts = this.#facts(hash);
          return facts === undefined ? [] : [[hash, facts] as const];
        }),
      ),
    suppress: async (_, hash) => void this.#suppressed.add(hash),
    read: async (_, member_id) => memberWith(Number(member_id.slice(1))),
  };

  readonly sealing: Pick<Sealing, 'openMember' | 'mailbox' | 'emailHash'> = {
    openMember: async ({ sealed_identity }) => ({ email: sealed_identity }) satisfies MemberIdentity,
    emailHash: async (_, address) => numbered(memberOf(address)),
    mailbox,
  };

  async *#pages(first: number): AsyncGenerator<readonly AddressEntry[]> {
    let page: AddressEntry[] = [];
    for (let member = first; member < this.count; member++) {
      if (isRepeated(member) && member > 0) continue;
      const facts = this.#facts(numbered(member));
      const next = member + 1;
      const members = [memberWith(member)];
      if (isRepeated(next) && next < this.count) members.push(memberWith(next));
      page.push({ email_hash: numbered(member), members, ...(facts && { facts }) });
      if (page.length < PAGE) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  }

  #facts(email_hash: string): AddressFacts | undefined {
    const suppressed = isSuppressed(Number(email_hash)) || this.#suppressed.has(email_hash);
    const unsubscribed = this.#unsubscribed.has(email_hash);
    if (!suppressed && !unsubscribed) return undefined;
    const at = START.toISOString();
    return {
      tenant_id: TENANT,
      email_hash,
      unsubscribed: unsubscribed ? { [NEWSLETTER]: at } : {},
      ...(suppressed && { suppressed: { reason: 'operator', at } }),
    };
  }
}

function memberWith(member: number): StoredMember {
  const at = START.toISOString();
  const address = addressOf(member);
  return {
    tenant_id: TENANT,
    member_id: `m${numbered(member)}`,
    member_uuid: `uuid-${numbered(member)}`,
    status: member % 10 === 0 ? 'paid' : 'free',
    labels: [],
    newsletters: [NEWSLETTER],
    created_at: at,
    updated_at: at,
    email_hash: numbered(memberOf(address)),
    sealed_identity: address,
  };
}
