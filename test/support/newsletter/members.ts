import { recipientHash } from '../../../src/adapters/recipient/recipient-hash.ts';
import type { MemberIdentity, StoredMember } from '../../../src/core/newsletter/model/member.ts';

const CREATED = '2026-11-01T00:00:00.000Z';

/** A member of which nothing is really encrypted. */
export function storedMember(
  tenant_id: string,
  member_id: string,
  { email = `${member_id}@example.com`, ...changes }: Partial<StoredMember> & Partial<MemberIdentity> = {},
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
    sealed_identity: JSON.stringify({ tenant_id, member_id, email }),
    ...changes,
  };
}
