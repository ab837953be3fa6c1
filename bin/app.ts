import { App } from 'aws-cdk-lib';
import { readStageConfig } from '../lib/config/stage-context.ts';
import { NotificationRetryStack } from '../lib/notification-retry-stack.ts';

const app = new App();
const config = readStageConfig(app.node);
new NotificationRetryStack(app, `notification-retry-${config.stage}`, { config });
