import { CfnOutput, Stack } from 'aws-cdk-lib';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { sweepIntervalSeconds } from '../config/schedule-expression.ts';
import { retryPolicyJson } from '../config/settings-json.ts';
import type { Console } from './console/console.ts';
import type { DeliveryEvents } from './delivery-events/delivery-events.ts';
import { metricNamespace } from './function/service-function.ts';
import type { DueIndexer, Reconciler } from './indexing/due-indexer.ts';
import type { IntakeApi } from './intake/intake-api.ts';
import { integrationPrefix, laneUrls } from './lanes/channel-lanes.ts';
import type { Alerts } from './monitoring/alerts.ts';
import type { NewsletterQueues } from './newsletter/newsletter-queues.ts';
import { newsletterConfigurationSet } from './newsletter/newsletter-sending.ts';
import type { Outcomes } from './outcomes/outcomes.ts';
import { deployedStack, isOfPart } from './platform/deployed-stack.ts';
import type { Stage } from './stage.ts';
import type { NewsletterTables } from './storage/tables.ts';
import type { Sweep } from './sweep/sweep.ts';

interface OutputsProps extends Stage {
  readonly sweep: Sweep;
  readonly dueIndexer: DueIndexer;
  readonly reconciler: Reconciler;
  readonly newsletterTables?: NewsletterTables | undefined;
  readonly newsletterQueues?: NewsletterQueues | undefined;
  readonly deliveryEvents?: DeliveryEvents | undefined;
  readonly alerts?: Alerts | undefined;
  readonly api?: IntakeApi | undefined;
  readonly console?: Console | undefined;
  readonly outcomes?: Outcomes | undefined;
}

/**
 * The outputs of the stack that is deployed, by which the job and operators find its resources; those of a part that the stage does without are
 * not there. Their names do not depend on the construct's path, so a stack can hold one NotificationRetry only.
 */
export class Outputs extends Construct {
  constructor(scope: Construct, id: string, retry: OutputsProps) {
    const deployed = deployedStack(scope);
    super(Stack.of(scope) === deployed ? scope : deployed, id);
    const { config, tables, channels, sweep, dueIndexer, reconciler, encryption } = retry;
    const json = (value: object) => Stack.of(this).toJsonString(value);
    const lanes = Object.entries(channels);
    const deadLetters = Object.fromEntries(lanes.map(([name, { deadLetters: queue }]) => [name, queue.queueUrl]));

    const { newsletterTables: mailing, newsletterQueues: queues, api, alerts, outcomes } = retry;
    const failures = (queue: Queue | undefined) => queue?.queueUrl;

    this.output('NotificationLogTable', tables.log.tableName, 'Table name of NotificationLog');
    this.output('NotificationContentTable', tables.content.tableName, 'Table name of NotificationContent');
    this.output('NotificationRetryLogTable', tables.retryLog.tableName, 'Table name of NotificationRetryLog');
    this.output('PipelineStateTable', tables.pipelineState.tableName, 'Table name of PipelineState');
    this.output('NewslettersTable', mailing?.newsletters.tableName, 'Table name of newsletters');
    this.output('MembersTable', mailing?.members.tableName, 'Table name of members');
    this.output('EmailsTable', mailing?.emails.tableName, 'Table name of emails');
    this.output('EmailBatchesTable', mailing?.batches.tableName, 'Table name of email_batches');
    this.output('EmailRecipientsTable', mailing?.recipients.tableName, 'Table name of email_recipients');
    this.output('DataKeysTable', tables.dataKeys.tableName, "Table name of DataKeys: the tenants' wrapped data keys");
    this.output('AuditTable', tables.audit.tableName, 'Table name of the audit log of the console');
    this.output('ApiKeysTable', api && tables.apiKeys.tableName, 'Table name of ApiKeys');
    this.output('ApiUrl', api?.url, 'Base URL of the intake API');
    this.output('ApiDomainTarget', api?.domainTarget, "What the DNS record of the API's domain names");
    this.output('OutcomesBus', outcomes?.bus.eventBusName, 'Name of the event bus of outcomes');
    this.output('OutcomesFailures', failures(outcomes?.failures), 'URL of the queue of untold outcomes');
    // In a stack of its own the console refers to this one, which therefore cannot refer to it.
    this.output('ConsoleUrl', retry.console?.url, 'Address of the console', retry.console);
    this.output('LaneQueues', json(laneUrls(channels)), 'JSON: queue URLs by channel and lane');
    this.output('DeadLetterQueues', json(deadLetters), 'JSON: URL of the dead-letter queue by channel');
    this.output('DueIndexerFailures', failures(dueIndexer.failures), 'URL of the queue of rows that were not taken in');
    const events = failures(retry.deliveryEvents?.failures);
    this.output('DeliveryEventFailures', events, 'URL of the queue of unapplied events of SES');
    if (queues) {
      const { prepare, send, failures: dead } = queues;
      const urls = { prepare: prepare.queueUrl, send: send.queueUrl, dead_letter: dead.queueUrl };
      this.output('NewsletterQueues', json(urls), 'JSON: URLs of the queues of newsletters');
      const set = 'SES configuration set of newsletters that tracks opens and clicks';
      this.output('NewsletterConfigurationSet', newsletterConfigurationSet(config), set);
      const minutes = 'Minutes before an uncertain recipient of a newsletter may be sent to again';
      this.output('UncertainMinutes', String(config.newsletter.uncertainMinutes), minutes);
      const own = 'Whether a tenant without senders of its own publishes nothing';
      this.output('OwnSendersOnly', String(config.newsletter.ownSendersOnly), own);
      const address = 'Whether a newsletter that does not say who sends it is not published';
      this.output('RequireAddress', String(config.newsletter.requireAddress), address);
      this.output('BatchConcurrency', String(config.newsletter.batchConcurrency), 'Batches of one email at once');
    }
    this.output('DispatcherFunction', sweep.dispatcher.functionName, 'Function that a run invokes');
    this.output('ReconcilerFunction', reconciler.function.functionName, 'Function that ops reconcile invokes');
    this.output('SweepIntervalSeconds', String(sweepIntervalSeconds(config.schedule)), 'Longest pause between sweeps');
    this.output('RetryPolicy', retryPolicyJson(config), 'JSON: base interval, limits and windows by priority');
    this.output('MetricNamespace', alerts && metricNamespace(config), 'CloudWatch namespace of the metrics');
    this.output('AlertsTopic', alerts?.topic.topicArn, 'ARN of the SNS topic of alarms and notices');
    this.output('DataKey', encryption.dataKey.keyArn, "Key of the tables; a row's writer needs it");
    this.output('RecipientKey', encryption.recipientKey.keyArn, "Key of recipients and integrations' secrets");
    this.output(
      'IntegrationSecretPrefix',
      integrationPrefix(config),
      "Beginning of the names of integrations' secrets",
    );
    this.output('RecipientHashSecret', encryption.recipientHashSecret.secretArn, "Key of the recipients' hash");
  }

  private output(name: string, value: string | undefined, description: string, of: Construct = this): void {
    const scope = isOfPart(of) ? of : this;
    if (value !== undefined) new CfnOutput(scope, name, { value, description }).overrideLogicalId(name);
  }
}
