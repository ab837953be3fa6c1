import { type Audience, candidates, countAudience, openCandidate } from '../../core/newsletter/audience/candidates.ts';
import { segmentFields, segmentMatcher } from '../../core/newsletter/audience/segment.ts';
import type { Email } from '../../core/newsletter/model/email.ts';
import type { MemberStore, Sealing } from '../../core/newsletter/model/ports.ts';
import type { CandidateReader, PartSegment } from '../../core/newsletter/preparation/ports.ts';
import { beginOf } from '../../core/newsletter/sending/exclusion-checks.ts';
import { parseSegment } from './parse-segment.ts';

/** The members of an email by its segment, in the order of their addresses' hashes. */
export function createCandidateReader(
  members: Pick<MemberStore, 'addressees' | 'address' | 'read' | 'find' | 'audience'>,
  sealing: Pick<Sealing, 'openMember' | 'mailbox'>,
): CandidateReader {
  return {
    async *pages(email, after, parts) {
      for await (const page of candidates(members, await audienceOf(email, parts), after)) {
        const opened = await Promise.all(page.candidates.map((candidate) => openCandidate(candidate, sealing)));
        yield { position: page.email_hash, members: page.members, candidates: opened };
      }
    },
    count: async (email) => countAudience(members, await audienceOf(email)),
  };
}

async function audienceOf(email: Email, parts: readonly PartSegment[] = []): Promise<Audience> {
  const { tenant_id, newsletter_id, segment, submitting_at, created_at } = email;
  const parsed = segment === undefined ? undefined : await parseSegment(segment);
  // The same moment however often the preparation is interrupted.
  const matches = segmentMatcher(parsed, new Date(submitting_at ?? created_at));
  const fields = new Set([...segmentFields(parsed), ...parts.flatMap((part) => [...part.fields])]);
  return { tenant_id, newsletter_id, matches, fields, began: beginOf(email) };
}
