import { App } from 'aws-cdk-lib';
import { StageConfigError } from '../lib/config/stage-config.ts';
import { readStageConfig } from '../lib/config/stage-context.ts';
import { NotificationRetryStack } from '../lib/notification-retry-stack.ts';

const app = new App();
try {
  const config = readStageConfig(app.node);
  new NotificationRetryStack(app, `notification-retry-${config.stage}`, { config });
} catch (error) {
  // A stack trace would hide the sentence that says what to write.
  if (!(error instanceof StageConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
