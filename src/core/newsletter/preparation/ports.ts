import type { Clock } from '../../model/time.ts';
import type { ExclusionReason } from '../model/batch.ts';
import type { Email, EmailContent } from '../model/email.ts';
import type { JobLimits } from '../model/job-limits.ts';
import type { Addressee, MemberIdentity, SegmentSubject } from '../model/member.ts';
import type { BatchStore, ChunkStore, EmailStore, JobLog } from '../model/ports.ts';
import type { Warming } from '../warming/domain-warming.ts';

/** A subscribed member that matches the segment: a recipient, or excluded. */
export interface PreparedCandidate {
  readonly member: Omit<Addressee, 'email_hash' | 'sealed_identity'>;
  readonly identity: MemberIdentity;
  readonly excluded?: ExclusionReason;
}

/** All candidates of an address come in one page, so that the pass can be interrupted between two pages. */
export interface CandidatePage {
  /** Place in the order of the pass: the next page comes after it. A page without candidates has one, too. */
  readonly position: string;
  /** Members that were looked at for it. */
  readonly members: number;
  readonly candidates: readonly PreparedCandidate[];
}

/** The members of an email, in an order that does not change. */
export interface CandidateReader {
  /** @param parts of the post, for the fields that they look at */
  pages(email: Email, after: string | undefined, parts: readonly PartSegment[]): AsyncIterable<CandidatePage>;
  /** Number of candidates, without decrypting any. */
  count(email: Email): Promise<number>;
}

/** The parts of a post that only some members see (`data-gh-segment`). */
export interface PartSegments {
  /** For each part with a segment of its own, in the order of the post, whether a member sees it. At most 30. */
  of(email: Email, content: EmailContent): Promise<readonly PartSegment[]>;
}

export interface PartSegment {
  readonly segment: string;
  readonly matches: (member: SegmentSubject) => boolean;
  /** What `matches` looks at. */
  readonly fields: ReadonlySet<keyof SegmentSubject>;
}

export interface PrepareDeps {
  readonly emails: Pick<EmailStore, 'read' | 'change' | 'content'>;
  readonly batches: Pick<BatchStore, 'put' | 'list' | 'remove'>;
  readonly chunks: Pick<ChunkStore, 'put'>;
  readonly candidates: CandidateReader;
  readonly parts: PartSegments;
  readonly warming: Pick<Warming, 'left'>;
  /** The stage sends no mail that does not say who sends it. */
  readonly require_address?: boolean;
  readonly clock: Clock;
  readonly pause: (ms: number) => Promise<void>;
  readonly remaining_ms: () => number;
  readonly limits: JobLimits;
  readonly log: JobLog;
}
