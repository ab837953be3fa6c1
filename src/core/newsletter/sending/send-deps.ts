import type { Clock } from '../../model/time.ts';
import type { Batch, Chunk, ChunkKey, Recipient } from '../model/batch.ts';
import type { Email, Newsletter } from '../model/email.ts';
import type { JobLimits } from '../model/job-limits.ts';
import { mergeValues } from '../model/merge-fields.ts';
import type {
  BatchStore,
  ChunkStore,
  EmailStore,
  EventStore,
  JobLog,
  NewsletterQueues,
  NewsletterStore,
} from '../model/ports.ts';
import type { BulkEntry, BulkProvider, Renderings } from '../model/provider.ts';
import type { ExclusionReason } from '../model/recipient-state.ts';
import { hostOf } from '../model/senders.ts';
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
  /** The signed link of a recipient (RFC 8058), and the keyed hash of its address. */
  readonly linkOf: (
    place: ChunkKey & { readonly n: number },
    recipient: Pick<Chunk, 'tenant_id'> & Pick<Recipient, 'member_email'>,
  ) => Promise<{ readonly unsubscribe_url: string; readonly email_hash: string }>;
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

/** The entries of a call: places in the chunk, in order. */
export function bulkEntries(
  chunk: Chunk,
  places: readonly number[],
  linkOf: SendDeps['linkOf'],
): Promise<readonly BulkEntry[]> {
  const { email_id, batch_id, chunk: number, tenant_id } = chunk;
  return Promise.all(
    places.map(async (n) => {
      const recipient = chunk.recipients[n];
      if (recipient === undefined) throw new Error(`Chunk ${number} of batch ${batch_id} has no recipient ${n}.`);
      const { unsubscribe_url, email_hash } = await linkOf(
        { email_id, batch_id, chunk: number, n },
        { tenant_id, member_email: recipient.member_email },
      );
      return {
        to: recipient.member_email,
        values: { ...mergeValues(recipient), unsubscribe_url },
        unsubscribe_url,
        tags: { email_id, chunk: `${batch_id}-${number}`, n: `${n}-${email_hash}` },
      };
    }),
  );
}

/** How a mail of the newsletter goes out, whoever gets it. */
export function sentAs(newsletter: Newsletter, batch: Pick<Batch, 'fallback_sending_domain'>) {
  const { reply_to, track } = newsletter;
  const list_id = listId(newsletter);
  return {
    from: fromAddress(newsletter, batch),
    ...(list_id !== undefined && { list_id }),
    ...(reply_to !== undefined && { reply_to }),
    ...(track !== undefined && { track }),
  };
}

/**
 * Names the newsletter for programs that sort mail (RFC 2919): the same from each of its domains, and another one than
 * that of a tenant at the same domain.
 */
function listId({ tenant_id, newsletter_id, from }: Newsletter): string | undefined {
  const host = hostOf(/@([^@>\s]+)>?\s*$/.exec(from)?.[1] ?? '');
  const tenant = tenant_id.replaceAll(/[^\w-]/gu, (char) => `%${char.codePointAt(0)?.toString(16)}`);
  return host && `${newsletter_id}.${tenant}.${host}`;
}

/** The From address of a batch: that of the newsletter, at the sending domain or the fallback domain. */
export function fromAddress(
  newsletter: Newsletter,
  { fallback_sending_domain }: Pick<Batch, 'fallback_sending_domain'>,
) {
  const { from, sending_domain, fallback_domain } = newsletter;
  const domain = fallback_sending_domain ? fallback_domain : sending_domain;
  return domain === undefined ? from : from.replace(/@[^@>\s]+(>?)\s*$/, `@${domain}$1`);
}
