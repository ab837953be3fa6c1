import { mailbox } from '../../../src/adapters/email/address.ts';
import type { AddressFacts, MemberIdentity, StoredMember } from '../../../src/core/newsletter/model/member.ts';
import type { AddressEntry, MemberStore, Sealing } from '../../../src/core/newsletter/model/ports.ts';
import { START } from '../engine/virtual-time.ts';
import type { Given } from '../scenarios/newsletter-scenario.ts';

export const TENANT = 'tenant-1';
export const NEWSLETTER = 'news';

const DIGITS = 8;

const numbered = (number: number) => String(number).padStart(DIGITS, '0');

/** Of a thousand members each: five have the address of the one before, ten are suppressed, one has a wrong address. */
export function usualMember(member: number): Given {
  const paid = member % 10 === 0;
  if (member % 200 === 199) return { kind: 'repeated', paid };
  if (member % 100 === 50) return { kind: 'suppressed', paid };
  return { kind: member % 1_000 === 501 ? 'malformed' : 'ok', paid };
}

/** The number of the member that an address belongs to first. */
export const memberOf = (address: string) => Number(address.slice(1, 1 + DIGITS));

/**
 * A million members without a table: member n is made when it is read. Their hashes are their numbers, so that the order
 * of the hashes is that of the members.
 */
export class GivenMembers {
  readonly count: number;
  readonly #given: (member: number) => Given;
  /** Addresses of a page. */
  readonly #page: number;
  readonly #unsubscribed = new Set<string>();
  readonly #suppressed = new Set<string>();

  constructor(count: number, given: (member: number) => Given, page: number) {
    this.count = count;
    this.#given = given;
    this.#page = page;
  }

  /** The member unsubscribes from the newsletter. @returns everybody who has the same address, and so does, too */
  unsubscribe(member: number): readonly number[] {
    const owner = this.ownerOf(member);
    this.#unsubscribed.add(numbered(owner));
    return this.sharing(owner);
  }

  /** Whose address the member has. */
  ownerOf(member: number): number {
    let owner = member;
    while (owner > 0 && this.#given(owner).kind === 'repeated') owner -= 1;
    return owner;
  }

  /** Who has the address of a member whose own it is. */
  sharing(owner: number): number[] {
    const all = [owner];
    for (let next = owner + 1; next < this.count && this.ownerOf(next) === owner; next++) all.push(next);
    return all;
  }

  /** Whether nobody is left to send to. Reads all members. */
  get isEmpty(): boolean {
    for (let member = 0; member < this.count; member++) {
      const { kind } = this.#given(member);
      if (kind !== 'repeated' && kind !== 'malformed' && this.#facts(numbered(member)) === undefined) return false;
    }
    return true;
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
    read: async (_, member_id) => this.#memberWith(Number(member_id.slice(1))),
  };

  readonly sealing: Pick<Sealing, 'openMember' | 'mailbox' | 'emailHash'> = {
    openMember: async ({ sealed_identity }) => ({ email: sealed_identity }) satisfies MemberIdentity,
    emailHash: async (_, address) => numbered(memberOf(address)),
    mailbox,
  };

  async *#pages(first: number): AsyncGenerator<readonly AddressEntry[]> {
    let page: AddressEntry[] = [];
    for (let member = first; member < this.count; member++) {
      if (this.ownerOf(member) !== member) continue;
      const facts = this.#facts(numbered(member));
      const members = this.sharing(member).map((one) => this.#memberWith(one));
      page.push({ email_hash: numbered(member), members, ...(facts && { facts }) });
      if (page.length < this.#page) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  }

  #facts(email_hash: string): AddressFacts | undefined {
    const suppressed = this.#given(Number(email_hash)).kind === 'suppressed' || this.#suppressed.has(email_hash);
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

  #memberWith(member: number): StoredMember {
    const at = START.toISOString();
    const owner = this.ownerOf(member);
    return {
      tenant_id: TENANT,
      member_id: `m${numbered(member)}`,
      member_uuid: `uuid-${numbered(member)}`,
      status: this.#given(member).paid ? 'paid' : 'free',
      labels: [],
      newsletters: [NEWSLETTER],
      created_at: at,
      updated_at: at,
      email_hash: numbered(owner),
      sealed_identity: this.#addressOf(owner),
    };
  }

  #addressOf(member: number): string {
    const { kind } = this.#given(member);
    const domain = ['refused', 'content', 'rejected'].includes(kind) ? `@${kind}.example.test` : '@example.test';
    return `m${numbered(member)}${kind === 'malformed' ? '' : domain}`;
  }
}
