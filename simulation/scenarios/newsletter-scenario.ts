import type { BulkProviderOptions } from '../models/bulk-provider.ts';

/** What happens to one newsletter. */
export interface NewsletterScenario {
  readonly name: string;
  readonly describes: string;
  /** Members of the newsletter: recipients, the excluded ones included. */
  readonly notifications: number;
  readonly provider: BulkProviderOptions;
  /** Share of the invocations whose process dies. */
  readonly deaths: number;
  /** Share of the storage calls that fail, half of them after they were applied. */
  readonly failing: number;
  /** Shares of what the provider reports: events that never come, mails that bounce for good, complaints. */
  readonly events: { readonly lost: number; readonly bounced: number; readonly complained: number };
  /** Members who unsubscribe each minute while it is sent. */
  readonly unsubscribe_per_minute: number;
}
