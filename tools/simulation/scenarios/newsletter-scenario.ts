import type { JobLimits } from '../../../src/core/newsletter/model/job-limits.ts';
import type { BulkProviderOptions } from '../models/bulk-provider.ts';

/** What happens to processes, to their calls and to messages. Shares are 0…1. */
export interface Faults {
  /** Share of the invocations whose process dies, before or after one of this many calls. */
  readonly deaths: number;
  readonly calls: number;
  /** Share of the storage calls that fail, half of them after they were applied. */
  readonly failing: number;
  /** Share of the storage calls after which the process stands still for minutes. */
  readonly stalling: number;
  /** Storage is down between these seconds. */
  readonly outages: readonly (readonly [from: number, until: number])[];
  /** Shares of the job's messages that never come, and that come twice. */
  readonly lost_messages: number;
  readonly duplicated_messages: number;
}

export const NO_FAULTS: Faults = {
  deaths: 0,
  // Those of a preparation and of a batch of 1,000 recipients, about.
  calls: 160,
  failing: 0,
  stalling: 0,
  outages: [],
  lost_messages: 0,
  duplicated_messages: 0,
};

/**
 * `repeated`: has the address of the member before. The provider refuses `refused`, every call with a `content`, and
 * `rejected` after it has accepted it.
 */
type MemberKind = 'ok' | 'suppressed' | 'repeated' | 'malformed' | 'refused' | 'content' | 'rejected';

export interface Given {
  readonly kind: MemberKind;
  readonly paid: boolean;
}

/** What happens to one newsletter. */
export interface NewsletterScenario {
  readonly name: string;
  readonly describes: string;
  /** Members of the newsletter: recipients, the excluded ones included. */
  readonly notifications: number;
  /** Who they are, if not the usual ones; addresses of a page, if not 100. */
  readonly given?: (member: number) => Given;
  readonly page?: number;
  readonly provider: BulkProviderOptions;
  readonly faults: Faults;
  /** Milliseconds of an invocation. */
  readonly limit_ms?: number;
  readonly limits?: Partial<JobLimits>;
  /** Whether the post has a part for paying members. */
  readonly parts?: boolean;
  /** Shares of what the provider reports: events that never come, mails that bounce for good, complaints. */
  readonly events: {
    readonly lost: number;
    readonly bounced: number;
    readonly complained: number;
    /** What comes is applied within minutes: no fault meets its function. */
    readonly sure?: boolean;
  };
  /** Members who unsubscribe each minute while it is sent. */
  readonly unsubscribe_per_minute: number;
}
