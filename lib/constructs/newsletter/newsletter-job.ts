import { Duration } from 'aws-cdk-lib';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type {
  Deployed,
  newsletterPrepareEnv,
  newsletterSendEnv,
} from '../../../functions/shared/runtime/newsletter-env.ts';
import { ACTIVE_EMAILS_INDEX, BUDGET_KIND, WARMING_KIND } from '../../../src/adapters/dynamodb/schema.ts';
import { SEALED } from '../../../src/core/model/notification.ts';
import { pacingJson } from '../../config/settings-json.ts';
import {
  on,
  openRecipients,
  queryIndexes,
  readSecrets,
  sealRecipients,
  useKinds,
  useTableKey,
} from '../function/permissions.ts';
import { ServiceFunction, SHORT_TIMEOUT } from '../function/service-function.ts';
import { runOnSchedule } from '../function/triggers.ts';
import { accountPermission } from '../lanes/email-provider.ts';
import type { NewsletterStage } from '../stage.ts';
import { jobEnvironment, recipientEnvironment, sendMessages } from './job-access.ts';
import { JOB_TIMEOUT } from './newsletter-queues.ts';
import { allowBulk, newsletterConfigurationSet } from './newsletter-sending.ts';

/** Emails that are prepared at once; the others wait for the slices of those before them. */
const PREPARE_CONCURRENCY = 2;

interface NewsletterJobProps extends NewsletterStage {
  /** Base URL of the API, for the unsubscribe links. */
  readonly apiUrl: string;
}

/** The job of newsletters: the functions that prepare, send, and repair. */
export class NewsletterJob extends Construct {
  readonly prepare: ServiceFunction;
  readonly send: ServiceFunction;
  readonly clock: ServiceFunction;

  constructor(scope: Construct, id: string, props: NewsletterJobProps) {
    super(scope, id);
    const { config, newsletterQueues: queues } = props;
    this.prepare = this.prepareFunction(props);
    consume(this.prepare, queues.prepare, PREPARE_CONCURRENCY);
    this.send = this.sendFunction(props);
    consume(this.send, queues.send, config.newsletter.totalConcurrency);
    this.clock = this.clockFunction(props);
    runOnSchedule(this, 'Schedule', this.clock, {
      config,
      what: 'move newsletters on',
      schedule: config.newsletter.clockSchedule,
      retryAttempts: 0,
      within: Duration.minutes(1),
    });
  }

  private prepareFunction(props: NewsletterJobProps): ServiceFunction {
    const { config, tables, newsletterTables, encryption } = props;
    const { emails, batches, recipients, members } = newsletterTables;
    return new ServiceFunction(this, 'PrepareFunction', {
      config,
      name: 'newsletter-prepare',
      description: 'Freezes the recipients of an email and divides them into batches',
      timeout: JOB_TIMEOUT,
      allowRecursion: true,
      environment: {
        ...jobEnvironment(props),
        ...recipientEnvironment(props),
        PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
        RECIPIENT_DAYS: String(config.newsletter.recipientDays),
        REQUIRE_ADDRESS: String(config.newsletter.requireAddress),
      } satisfies Deployed<typeof newsletterPrepareEnv>,
      permissions: [
        // The result of a dry run is an item of its own.
        on(emails, 'GetItem', 'PutItem', 'UpdateItem'),
        on(batches, 'GetItem', 'Query', 'PutItem', 'UpdateItem', 'BatchWriteItem'),
        on(recipients, 'BatchWriteItem'),
        // Also of who moves meanwhile.
        on(members, 'BatchGetItem', 'Query'),
        useKinds(tables.pipelineState, WARMING_KIND),
        useTableKey(encryption.dataKey),
        ...sealRecipients(encryption, tables, SEALED.members),
        sendMessages(props.newsletterQueues),
      ],
    });
  }

  private sendFunction(props: NewsletterJobProps): ServiceFunction {
    const { config, tables, newsletterTables, encryption, apiUrl } = props;
    const { newsletters, emails, batches, recipients, members } = newsletterTables;
    return new ServiceFunction(this, 'SendFunction', {
      config,
      name: 'newsletter-send',
      description: 'Sends the batches of emails',
      timeout: JOB_TIMEOUT,
      // An email of a million members is a chain of a thousand batches, each of which gives its slot to the next one.
      allowRecursion: true,
      environment: {
        ...jobEnvironment(props),
        ...recipientEnvironment(props),
        NEWSLETTERS_TABLE: newsletters.tableName,
        OWN_SENDERS_ONLY: String(config.newsletter.ownSendersOnly),
        PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
        PACING: pacingJson(config, config.newsletter.totalConcurrency),
        NEWSLETTER_CONFIGURATION_SET: newsletterConfigurationSet(config),
        API_URL: apiUrl,
        RECIPIENT_HASH_SECRET: encryption.recipientHashSecret.secretArn,
        UNSUBSCRIBE_SECRET: encryption.unsubscribeSecret.secretArn,
      } satisfies Deployed<typeof newsletterSendEnv>,
      permissions: [
        on(emails, 'GetItem', 'UpdateItem'),
        on(batches, 'GetItem', 'Query', 'UpdateItem'),
        on(recipients, 'GetItem', 'Query', 'UpdateItem'),
        on(members, 'BatchGetItem'),
        on(newsletters, 'GetItem'),
        useKinds(tables.pipelineState, BUDGET_KIND, WARMING_KIND),
        useTableKey(encryption.dataKey),
        ...openRecipients(encryption, tables, SEALED.members),
        ...readSecrets(encryption, encryption.recipientHashSecret, encryption.unsubscribeSecret),
        sendMessages(props.newsletterQueues),
      ],
      wildcards: [...allowBulk(this, config), accountPermission()],
    });
  }

  private clockFunction(props: NewsletterJobProps): ServiceFunction {
    const { config, newsletterTables, encryption } = props;
    const { emails, batches } = newsletterTables;
    return new ServiceFunction(this, 'ClockFunction', {
      config,
      name: 'newsletter-clock',
      description: 'Moves emails on whose time has come',
      timeout: SHORT_TIMEOUT,
      environment: jobEnvironment(props),
      permissions: [
        on(emails, 'GetItem', 'BatchGetItem', 'UpdateItem'),
        queryIndexes(emails, ACTIVE_EMAILS_INDEX),
        on(batches, 'GetItem', 'Query'),
        useTableKey(encryption.dataKey),
        sendMessages(props.newsletterQueues),
      ],
    });
  }
}

/** A message is minutes of work, so each invocation takes one. */
function consume(handler: ServiceFunction, queue: Queue, maxConcurrency: number): void {
  handler.addEventSource(new SqsEventSource(queue, { batchSize: 1, maxConcurrency, reportBatchItemFailures: true }));
}
