import type { ConsoleSettings } from '../../config/console-config.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import type { Channels } from '../lanes/lane-queues.ts';
import type { NewsletterQueues } from '../newsletter/newsletter-queues.ts';
import type { Encryption } from '../storage/encryption.ts';
import type { NewsletterTables } from '../storage/newsletter-tables.ts';
import type { NotificationTables } from '../storage/notification-tables.ts';

export interface ConsoleProps {
  readonly config: StageConfig;
  /** How people sign in. */
  readonly settings: ConsoleSettings;
  readonly tables: NotificationTables;
  readonly newsletterTables: NewsletterTables;
  readonly newsletterQueues: NewsletterQueues;
  readonly encryption: Encryption;
  readonly channels: Channels;
}
