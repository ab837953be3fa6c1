import { SEALED } from '../../core/model/notification.ts';
import { type MemberIdentity, UnreadableMemberError } from '../../core/newsletter/model/member.ts';
import type { Sealing } from '../../core/newsletter/model/ports.ts';
import { mailbox } from '../email/address.ts';
import { type Sealer, type SealOwner, SealRefusedError } from '../sealing/sealer.ts';
import { recipientHash } from '../signing/hashed-ids.ts';

/** Remembers the hashes of the last addresses: a sender needs each for the facts of the address, and for its link. */
export function withRecentHashes<S extends Pick<Sealing, 'emailHash'>>(sealing: S, most: number): S {
  const recent = new Map<string, Promise<string>>();
  return {
    ...sealing,
    emailHash(tenant_id, email) {
      const key = JSON.stringify([tenant_id, email]);
      const known = recent.get(key);
      if (known !== undefined) return known;
      const hash = sealing.emailHash(tenant_id, email);
      recent.set(key, hash);
      hash.catch(() => recent.delete(key));
      const [oldest] = recent.keys();
      if (recent.size > most && oldest !== undefined) recent.delete(oldest);
      return hash;
    },
  };
}

/** Address and name of members, sealed together; addresses are hashed as those of notifications are. */
export function createMemberSealing(sealer: Pick<Sealer, 'seal' | 'open'>, hashKey: () => Promise<string>): Sealing {
  const ownerOf = (tenant_id: string, member_id: string): SealOwner => ({
    tenant_id,
    purpose: SEALED.members,
    id: member_id,
  });
  return {
    sealMember: (tenant_id, member_id, identity) =>
      sealer.seal(ownerOf(tenant_id, member_id), JSON.stringify(identity)),
    async openMember({ tenant_id, member_id, sealed_identity }) {
      const text = await sealer.open(ownerOf(tenant_id, member_id), sealed_identity).catch((cause: unknown) => {
        // Another error is KMS's or storage's, and may pass.
        throw cause instanceof SealRefusedError ? new UnreadableMemberError(cause.message, { cause }) : cause;
      });
      // Sealed by sealMember, for this owner: nobody else can have written it.
      return JSON.parse(text) as MemberIdentity;
    },
    emailHash: async (tenant_id, email) => recipientHash(await hashKey(), tenant_id, mailbox(email) ?? email),
    mailbox,
  };
}
