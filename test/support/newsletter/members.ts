import { createMemberSealing } from '../../../src/adapters/recipient/member-sealing.ts';
import { recipientHash } from '../../../src/adapters/signing/hashed-ids.ts';
import type { MemberIdentity, StoredMember } from '../../../src/core/newsletter/model/member.ts';

const CREATED = '2026-11-01T00:00:00.000Z';

/** A member of which nothing is really encrypted. */
export function storedMember(
  tenant_id: string,
  member_id: string,
  {
    email = `${member_id}@example.com`,
    ...changes
  }: Partial<StoredMember> & Partial<Pick<MemberIdentity, 'email'>> = {},
): StoredMember {
  return {
    tenant_id,
    member_id,
    member_uuid: `uuid-of-${member_id}`,
    status: 'free',
    labels: [],
    newsletters: [],
    created_at: CREATED,
    updated_at: CREATED,
    email_hash: recipientHash('key', tenant_id, email),
    sealed_identity: JSON.stringify({ tenant_id, id: member_id, text: JSON.stringify({ email }) }),
    ...changes,
  };
}

/** Sealing that only marks to whom a text belongs, so that tests can read what is stored. */
export function legibleSealing(hashKey = 'key') {
  return createMemberSealing(
    {
      seal: async (owner, text) => JSON.stringify({ ...owner, text }),
      async open({ tenant_id, id }, sealed) {
        const found = JSON.parse(sealed);
        if (found.tenant_id !== tenant_id || found.id !== id) throw new Error('sealed for another member');
        return found.text;
      },
    },
    async () => hashKey,
  );
}
