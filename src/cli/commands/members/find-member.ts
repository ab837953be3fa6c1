import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import type { MemberAccess } from '../../session/member-access.ts';
import type { Session } from '../../session/session.ts';

export interface MemberOptions {
  readonly tenant: string;
  readonly email?: string;
}

/** The hash of the address that a command names, by a member's id or by the address itself. */
export async function addressHash(
  session: Session,
  { members, sealing }: MemberAccess,
  member_id: string | undefined,
  { tenant, email }: MemberOptions,
): Promise<string> {
  if ((member_id === undefined) === (email === undefined)) {
    throw new OperatorError('Name a member by its ID or by --email, one of the two.', EXIT_USAGE);
  }
  if (member_id !== undefined) {
    const member = await members.read(tenant, member_id);
    if (member === undefined) throw new OperatorError(`${tenant} has no member ${member_id}: look by --email.`);
    return member.email_hash;
  }
  const address = sealing.mailbox(email === '-' ? await session.terminal.readInput() : (email ?? ''));
  if (address === undefined)
    throw new OperatorError('--email must be one address, such as name@example.com.', EXIT_USAGE);
  return sealing.emailHash(tenant, address);
}
