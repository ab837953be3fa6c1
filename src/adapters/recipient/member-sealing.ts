import type { MemberIdentity } from '../../core/newsletter/model/member.ts';
import type { Sealing } from '../../core/newsletter/model/ports.ts';
import { mailbox } from '../email/address.ts';
import { recipientHash } from './recipient-hash.ts';

/** Encrypts texts, each bound to its owner: it opens for no other one. */
interface Sealer {
  seal(owner: MemberOwner, text: string): Promise<string>;
  open(owner: MemberOwner, sealed: string): Promise<string>;
}

interface MemberOwner {
  readonly tenant_id: string;
  readonly purpose: 'member';
  /** The member_id. */
  readonly id: string;
}

/** Address and name of members, sealed together; addresses are hashed as those of notifications are. */
export function createMemberSealing(sealer: Sealer, hashKey: () => Promise<string>): Sealing {
  const ownerOf = (tenant_id: string, member_id: string) => ({ tenant_id, purpose: 'member', id: member_id }) as const;
  return {
    sealMember: (tenant_id, member_id, identity) => sealer.seal(ownerOf(tenant_id, member_id), JSON.stringify(identity)),
    async openMember({ tenant_id, member_id, sealed_identity }) {
      // Sealed by sealMember, for this owner: nobody else can have written it.
      return JSON.parse(await sealer.open(ownerOf(tenant_id, member_id), sealed_identity)) as MemberIdentity;
    },
    emailHash: async (tenant_id, email) => recipientHash(await hashKey(), tenant_id, mailbox(email) ?? email),
    mailbox,
  };
}
