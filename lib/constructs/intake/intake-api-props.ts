import { Duration } from 'aws-cdk-lib';
import type { StageConfig } from '../../config/stage-config.ts';
import type { Channels } from '../lanes/lane-queues.ts';
import type { NewsletterQueues } from '../newsletter/newsletter-queues.ts';
import type { Encryption } from '../storage/encryption.ts';
import type { NewsletterTables } from '../storage/newsletter-tables.ts';
import type { NotificationTables } from '../storage/notification-tables.ts';

export interface IntakeApiProps {
  readonly config: StageConfig;
  readonly tables: NotificationTables;
  readonly encryption: Encryption;
  readonly channels: Channels;
  /** Absent in a stage without newsletters. */
  readonly newsletters?: NewsletterStorage | undefined;
}

export interface NewsletterStorage {
  readonly newsletterTables: NewsletterTables;
  readonly newsletterQueues: NewsletterQueues;
}

export interface NewsletterApiProps extends IntakeApiProps, NewsletterStorage {}

/** API Gateway waits 30 s for a function; producers wait for less. */
export const API_TIMEOUT = Duration.seconds(20);
