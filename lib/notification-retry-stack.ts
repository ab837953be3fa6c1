import { Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { retains } from './config/parts.ts';
import type { StageConfig } from './config/stage-config.ts';
import { NotificationRetry } from './notification-retry.ts';

export interface NotificationRetryStackProps extends StackProps {
  readonly config: StageConfig;
}

/** A stack with the service alone. Account and region are those that the deployer is signed in to. */
export class NotificationRetryStack extends Stack {
  readonly notificationRetry: NotificationRetry;

  constructor(scope: Construct, id: string, { config, ...props }: NotificationRetryStackProps) {
    super(scope, id, {
      description: `Retries failed notifications (${config.stage})`,
      terminationProtection: retains(config),
      tags: config.tags,
      ...props,
    });
    this.notificationRetry = new NotificationRetry(this, 'NotificationRetry', config);
  }
}
