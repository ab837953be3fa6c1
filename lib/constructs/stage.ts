import type { Channels } from './lanes/channel-lanes.ts';
import type { NewsletterQueues } from './newsletter/newsletter-queues.ts';
import type { NewsletterTables, StageStorage } from './storage/tables.ts';

export interface NewsletterStorage {
  readonly newsletterTables: NewsletterTables;
  readonly newsletterQueues: NewsletterQueues;
}

export interface NewsletterStage extends StageStorage, NewsletterStorage {}

export interface Stage extends StageStorage {
  readonly channels: Channels;
  /** Absent in a stage without newsletters. */
  readonly newsletters?: NewsletterStorage | undefined;
}
