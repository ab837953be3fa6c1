import type { StageConfig } from '../../config/stage-config.ts';
import type { Encryption } from '../storage/encryption.ts';
import type { NewsletterTables } from '../storage/newsletter-tables.ts';
import type { NotificationTables } from '../storage/notification-tables.ts';
import type { NewsletterQueues } from './newsletter-queues.ts';

export interface NewsletterProps {
  readonly config: StageConfig;
  readonly tables: NotificationTables;
  readonly newsletterTables: NewsletterTables;
  readonly encryption: Encryption;
  readonly queues: NewsletterQueues;
}
