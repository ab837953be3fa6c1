import { App } from 'aws-cdk-lib';
import { NotificationRetryStack } from '../lib/notification-retry-stack.ts';
import { readStageConfig } from '../lib/stage-context.ts';

const app = new App();
const config = readStageConfig(app.node);
new NotificationRetryStack(app, `notification-retry-${config.stage}`, { config });
