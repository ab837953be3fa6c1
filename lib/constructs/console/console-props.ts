import type { ConsoleSettings } from '../../config/console-config.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import type { ServiceFunction } from '../function/service-function.ts';
import type { NewsletterStorage } from '../intake/intake-api-props.ts';
import type { Channels } from '../lanes/lane-queues.ts';
import type { Encryption } from '../storage/encryption.ts';
import type { NotificationTables } from '../storage/notification-tables.ts';

export interface ConsoleProps {
  readonly config: StageConfig;
  /** How people sign in. */
  readonly settings: ConsoleSettings;
  readonly tables: NotificationTables;
  /** Absent in a stage without newsletters. */
  readonly newsletters?: NewsletterStorage | undefined;
  readonly encryption: Encryption;
  readonly channels: Channels;
  /** Verifies the stage when it is invoked. */
  readonly verify: ServiceFunction;
}
