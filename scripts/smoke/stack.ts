import type { App } from 'aws-cdk-lib';
import { parseStageConfig } from '../../lib/config/stage-config.ts';
import { NotificationRetryStack } from '../../lib/notification-retry-stack.ts';
import { addWriter } from './writer.ts';

const STAGE = 'smoke';
export const STACK = `notification-retry-${STAGE}`;

/** A stage of its own, so that nothing of another stage in the account is touched. It is deleted with all its data. */
export function smokeStack(app: App, senderAddress: string): NotificationRetryStack {
  const config = parseStageConfig({ stage: STAGE, senderAddress, baseIntervalSeconds: 30, logRetentionDays: 1 });
  const stack = new NotificationRetryStack(app, STACK, { config });
  addWriter(stack);
  return stack;
}
