import { type Candidate, candidates, countAudience } from '../audience/candidates.ts';
import { openCandidate } from '../audience/open-candidate.ts';
import { type Segment, segmentMatcher } from '../audience/segment.ts';
import type { Email } from '../model/email.ts';
import type { MemberStore, Sealing } from '../model/ports.ts';
import type { CandidateReader } from './ports.ts';

export interface CandidateReaderDeps {
  readonly members: Pick<MemberStore, 'addresses'>;
  readonly sealing: Pick<Sealing, 'openMember' | 'mailbox'>;
  /** Undefined: everyone. */
  readonly parseSegment: (text: string | undefined) => Promise<Segment | undefined>;
}

/** The members of an email in the order of their addresses' hashes. */
export function createCandidateReader({ members, sealing, parseSegment }: CandidateReaderDeps): CandidateReader {
  const audienceOf = async ({ tenant_id, newsletter_id, segment, submitting_at, created_at }: Email) => ({
    tenant_id,
    newsletter_id,
    // Relative times count from the same moment, however often the pass is interrupted.
    matches: segmentMatcher(await parseSegment(segment), new Date(submitting_at ?? created_at)),
  });

  return {
    async *pages(email, after) {
      for await (const page of candidates(members, await audienceOf(email), after)) {
        const last = page.at(-1);
        if (last === undefined) continue;
        const opened = await Promise.all(page.map((candidate: Candidate) => openCandidate(candidate, sealing)));
        yield { position: last.member.email_hash, candidates: opened };
      }
    },
    async count(email) {
      const { recipients, excluded } = await countAudience(members, await audienceOf(email));
      return recipients + excluded;
    },
  };
}
