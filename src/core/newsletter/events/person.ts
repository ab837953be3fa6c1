import type { Recipient } from '../model/chunk.ts';
import type { MemberStore, Sealing } from '../model/ports.ts';

export interface PersonDeps {
  readonly members: Pick<MemberStore, 'read'>;
  readonly sealing: Pick<Sealing, 'emailHash'>;
}

/**
 * Writes what a person decided to the address that got the mail and, if the member has another one since, to the present
 * address, too. The old one is written before the member is read, and a member that moves carries the facts once more
 * after it has moved (carry-facts.ts): one of both sees the other.
 */
export async function writeForPerson(
  { tenant_id, recipient }: { readonly tenant_id: string; readonly recipient: Recipient },
  write: (email_hash: string) => Promise<void>,
  { members, sealing }: PersonDeps,
): Promise<void> {
  const mailed = await sealing.emailHash(tenant_id, recipient.member_email);
  await write(mailed);
  const member = await members.read(tenant_id, recipient.member_id);
  if (member !== undefined && member.email_hash !== mailed) await write(member.email_hash);
}
