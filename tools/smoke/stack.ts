import { type App, CfnOutput, RemovalPolicies } from 'aws-cdk-lib';
import { Rule } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import { SqsSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { parseStageConfig, type StageConfigInput } from '../../lib/config/stage-config.ts';
import { NotificationRetryStack } from '../../lib/notification-retry-stack.ts';
import { priceAtRest } from '../bench/scale/price-at-rest.ts';
import { UNIT_PRICES as PRICE } from '../bench/scale/unit-prices.ts';
import { addConsoleUser } from './console-user.ts';
import { addWriter } from './writer.ts';

const STAGE = 'smoke';
export const STACK = `notification-retry-${STAGE}`;

/** The output with the URL of the queue that gets the alarms. */
export const ALARM_QUEUE_OUTPUT = 'SmokeAlarmQueue';
/** The output with the URL of the queue that gets what producers are told. */
export const OUTCOME_QUEUE_OUTPUT = 'SmokeOutcomeQueue';
/** The output with the ARN of the secret that signs unsubscribe links: the mails themselves go to SES's simulator. */
export const LINK_SECRET_OUTPUT = 'SmokeUnsubscribeSecret';

/** Every part, with an encrypted topic of alarms. @param account 12 digits; the address of a sign-in page is unique in a region */
function smokeStage(senderAddress: string, account: string): StageConfigInput {
  return {
    stage: STAGE,
    senderAddress,
    baseIntervalSeconds: 30,
    logRetentionDays: 1,
    monitoring: 'full',
    outcomes: true,
    console: { cognito: { domainPrefix: `notification-retry-${STAGE}-${account}` } },
  };
}

/** A stage of its own, so that nothing of another stage in the account is touched. It is deleted with all its data. */
export function smokeStack(app: App, senderAddress: string, account: string): NotificationRetryStack {
  const config = parseStageConfig(smokeStage(senderAddress, account));
  const stack = new NotificationRetryStack(app, STACK, { config });
  const { alerts, encryption, outcomes } = stack.notificationRetry;
  addWriter(stack);
  addConsoleUser(stack);
  const alarms = new Queue(stack, 'SmokeAlarms', { enforceSSL: true });
  alerts?.topic.addSubscription(new SqsSubscription(alarms));
  const told = new Queue(stack, 'SmokeOutcomes', { enforceSSL: true });
  if (outcomes) {
    const eventPattern = { source: ['notification-retry'] };
    new Rule(stack, 'SmokeOutcomesRule', { eventBus: outcomes.bus, eventPattern, targets: [new SqsQueue(told)] });
  }
  new CfnOutput(stack, OUTCOME_QUEUE_OUTPUT, { value: told.queueUrl });
  new CfnOutput(stack, ALARM_QUEUE_OUTPUT, { value: alarms.queueUrl });
  // CDK's log groups of the functions above outlive their stack by default.
  RemovalPolicies.of(stack).destroy();
  new CfnOutput(stack, LINK_SECRET_OUTPUT, { value: encryption.unsubscribeSecret.secretArn });
  return stack;
}

const HOURS_PER_MONTH = 730;

/** More than a run uses, deployments included. */
const USED = {
  write_unit: 5_000,
  read_unit: 50_000,
  sqs_request: 50_000,
  kms_request: 10_000,
  lambda_request: 10_000,
  lambda_gigabyte_second: 2_000,
  log_gigabyte: 0.05,
  mail: 50,
  sign_in_user: 1,
} as const satisfies Partial<Record<keyof typeof PRICE, number>>;

interface Line {
  readonly what: string;
  readonly count: number;
  readonly usd: number;
}

export interface Bill {
  readonly lines: readonly Line[];
  readonly usd: number;
}

/** What a run costs at most, in US dollars, by the hours that its stack exists: list prices of us-east-1. */
export function billOf(hours: number): Bill {
  // Neither value changes what is there.
  const stage = smokeStage('noreply@your-domain.example', '123456789012');
  const lines: Line[] = priceAtRest(stage).map(({ en, count, dollars }) => {
    return { what: en, count, usd: (dollars * hours) / HOURS_PER_MONTH };
  });
  const used = Object.entries(USED).reduce((sum, [name, count]) => sum + count * PRICE[name as keyof typeof USED], 0);
  lines.push({ what: 'requests, run time, logs, mails and a sign-in', count: 1, usd: used });
  return { lines, usd: lines.reduce((sum, { usd }) => sum + usd, 0) };
}
