import type { Clock } from '../../model/time.ts';
import type { Batch } from '../model/batch.ts';
import type { ChunkKey, Recipient } from '../model/chunk.ts';
import type { Email, EmailContent } from '../model/email.ts';
import type { JobLimits } from '../model/job-limits.ts';
import type { JobLog } from '../model/job-log.ts';
import type { BatchStore, ChunkStore, EmailStore, EventStore, NewsletterQueues } from '../model/ports.ts';
import type { BulkProvider, Rendering } from '../model/provider.ts';
import type { ExclusionReason } from '../model/recipient-state.ts';

/** The budget of e-mail, as a sender of newsletters needs it. */
export interface SendPacing {
  /**
   * Reserves up to `count` mails: how many may go now, and when the rest may ask again.
   * @param following how many mails this sender wants for its next call, which may be reserved with these
   */
  reserve(count: number, following?: number): Promise<{ readonly granted: number; readonly retry_at?: string }>;
  /** The provider refused for its rate or its quota although the mails were granted. */
  refused(limit: 'throttled' | 'quota'): Promise<void>;
}

/** What is known of recipients' addresses when their chunk goes out. */
export interface LateExclusions {
  /** For each recipient, in order, why it must not get the mail any more. */
  check(
    email: Pick<Email, 'tenant_id' | 'newsletter_id'>,
    recipients: readonly Recipient[],
  ): Promise<readonly (ExclusionReason | undefined)[]>;
}

/** The post as the members of a batch get it, made once per rendering (the source's EmailBodyCache). */
export interface Renderings {
  of(email: Email, content: EmailContent, batch: Pick<Batch, 'rendering'>): Promise<Rendering>;
}

export interface SendDeps {
  readonly emails: Pick<EmailStore, 'read' | 'change' | 'content'>;
  readonly batches: Pick<BatchStore, 'read' | 'change' | 'list' | 'from'>;
  readonly chunks: Pick<ChunkStore, 'readChunks' | 'readState' | 'states' | 'change'>;
  readonly events: Pick<EventStore, 'read'>;
  readonly queues: NewsletterQueues;
  readonly provider: BulkProvider;
  readonly pacing: SendPacing;
  readonly exclusions: LateExclusions;
  readonly renderings: Renderings;
  /** The signed link of a recipient (RFC 8058). */
  readonly unsubscribeUrl: (place: ChunkKey & { readonly n: number }) => Promise<string>;
  readonly clock: Clock;
  readonly pause: (ms: number) => Promise<void>;
  /** Does something every so many milliseconds until it is told to stop, whether or not it succeeds. */
  readonly repeat: (ms: number, run: () => Promise<unknown>) => () => void;
  readonly newId: () => string;
  /** Milliseconds until the invocation is ended. */
  readonly remaining_ms: () => number;
  readonly limits: JobLimits;
  readonly log: JobLog;
}
