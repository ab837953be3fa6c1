import type { MemberIdentity } from '../model/member.ts';
import type { Sealing } from '../model/ports.ts';
import type { ExclusionReason } from '../model/recipient-state.ts';
import type { Candidate } from './candidates.ts';

/** A candidate with its address and name. */
export interface OpenedCandidate extends Omit<Candidate, 'excluded'> {
  readonly identity: MemberIdentity;
  readonly excluded?: ExclusionReason;
}

/**
 * Decrypts a candidate. An address that was well-formed when the member was stored, and is not any more, is excluded
 * instead of failing a call for the 49 others.
 */
export async function openCandidate(
  { member, excluded }: Candidate,
  sealing: Pick<Sealing, 'openMember' | 'mailbox'>,
): Promise<OpenedCandidate> {
  const identity = await sealing.openMember(member);
  const reason = excluded ?? (sealing.mailbox(identity.email) === undefined ? 'malformed_address' : undefined);
  return { member, identity, ...(reason && { excluded: reason }) };
}
