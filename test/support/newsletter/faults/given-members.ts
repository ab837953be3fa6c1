import type { MemberProfile } from '../../../../src/core/newsletter/model/member.ts';
import type { ExclusionReason } from '../../../../src/core/newsletter/model/recipient-state.ts';
import type { CandidatePage } from '../../../../src/core/newsletter/preparation/ports.ts';
import type { Process } from './process.ts';

export interface GivenMember {
  readonly address: string;
  readonly excluded?: ExclusionReason;
  readonly paid: boolean;
}

/** The members two by two, each page by a call of the process. */
export async function* candidatePages(
  members: readonly GivenMember[],
  process: Process,
  after?: string,
): AsyncGenerator<CandidatePage> {
  for (let i = after === undefined ? 0 : Number(after) + 1; i < members.length; i += 2) {
    const page = members.slice(i, i + 2);
    const candidates = page.map(({ address, excluded, paid }) => ({
      member: memberOf(address, paid),
      identity: { email: address },
      ...(excluded && { excluded }),
    }));
    yield await process.call(async () => ({ position: String(i + page.length - 1), candidates }));
  }
}

function memberOf(address: string, paid: boolean): MemberProfile {
  return {
    tenant_id: 'tenant-1',
    member_id: address,
    member_uuid: address,
    status: paid ? 'paid' : 'free',
    labels: [],
    newsletters: ['news'],
    created_at: '',
    updated_at: '',
  };
}
