import type { Clock } from '../../model/time.ts';
import type { ExclusionReason, Recipient } from '../model/batch.ts';
import type { Email } from '../model/email.ts';
import type { JobLimits } from '../model/job-limits.ts';
import type {
  BatchStore,
  ChunkStore,
  EmailStore,
  EventStore,
  JobLog,
  NewsletterQueues,
  NewsletterStore,
} from '../model/ports.ts';
import type { BulkProvider, LinkOf, Renderings } from '../model/provider.ts';
import type { Warming } from '../warming/domain-warming.ts';

/** The budget of e-mail, as a sender of newsletters needs it. */
export interface SendPacing {
  /**
   * Reserves up to `count` mails: how many may go now, and when the rest may ask again.
   * @param following how many mails this sender wants for its next call, which may be reserved with these
   */
  reserve(
    count: number,
    following?: number,
  ): Promise<{ readonly granted: number; readonly retry_at?: string; readonly why?: 'rate' | 'quota' | 'account' }>;
  /** The provider refused for its rate or its quota although the mails were granted. */
  refused(limit: 'throttled' | 'quota'): Promise<void>;
}

/** What is known of recipients' addresses when their chunk goes out. */
export interface LateExclusions {
  /** For each recipient, in order, why it must not get the mail any more. */
  check(
    email: Pick<Email, 'tenant_id' | 'newsletter_id' | 'submitting_at' | 'created_at'>,
    recipients: readonly Pick<Recipient, 'member_email'>[],
  ): Promise<readonly (ExclusionReason | undefined)[]>;
}

export interface SendDeps {
  readonly emails: Pick<EmailStore, 'read' | 'change' | 'content'>;
  readonly batches: Pick<BatchStore, 'read' | 'change' | 'list' | 'from'>;
  readonly chunks: Pick<ChunkStore, 'readChunks' | 'readState' | 'states' | 'change'>;
  readonly events: Pick<EventStore, 'read'>;
  readonly newsletters: Pick<NewsletterStore, 'senders' | 'sendersAt'>;
  readonly queues: NewsletterQueues;
  readonly provider: BulkProvider;
  readonly pacing: SendPacing;
  readonly warming: Pick<Warming, 'reserve' | 'settle'>;
  readonly exclusions: LateExclusions;
  readonly renderings: Renderings;
  readonly linkOf: LinkOf;
  readonly clock: Clock;
  readonly pause: (ms: number) => Promise<void>;
  /** Does something at an interval in milliseconds until it is told to stop, whether or not it succeeds. */
  readonly repeat: (ms: number, run: () => Promise<unknown>) => () => void;
  readonly newId: () => string;
  /** Milliseconds until the invocation is ended. */
  readonly remaining_ms: () => number;
  readonly limits: JobLimits;
  readonly log: JobLog;
}
