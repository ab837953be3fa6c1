import { whyExcluded } from '../model/member.ts';
import type { MemberStore, Sealing } from '../model/ports.ts';
import type { LateExclusions } from './send-deps.ts';

/** Reads the facts of the addresses again when their chunk goes out: who unsubscribed meanwhile gets no mail. */
export function createLateExclusions(
  members: Pick<MemberStore, 'facts'>,
  sealing: Pick<Sealing, 'emailHash'>,
): LateExclusions {
  return {
    async check({ tenant_id, newsletter_id }, recipients) {
      const hashes = await Promise.all(
        recipients.map(({ member_email }) => sealing.emailHash(tenant_id, member_email)),
      );
      const facts = await members.facts(tenant_id, [...new Set(hashes)]);
      return hashes.map((hash) => whyExcluded(facts.get(hash), newsletter_id));
    },
  };
}
