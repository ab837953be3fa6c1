import { Stack } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { Grant, type IGrantable, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { SEALED } from '../../../src/core/model/notification.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import { allow, decryptSecrets, on, useAudit, useKeyBy, useKeyOf } from '../function/permissions.ts';
import type { Reconciler } from '../indexing/due-indexer.ts';
import { type Channels, integrationSecrets, laneArns } from '../lanes/channel-lanes.ts';
import type { NewsletterQueues } from '../newsletter/newsletter-queues.ts';
import { allowBulk } from '../newsletter/newsletter-sending.ts';
import type { Outcomes } from '../outcomes/outcomes.ts';
import type { Encryption } from '../storage/encryption.ts';
import type { NewsletterTables, NotificationTables } from '../storage/tables.ts';
import { deployedStack } from './deployed-stack.ts';

/** The columns of a row that its writer sets (docs/reference/handing-over.md, Rights of writers). */
// biome-ignore format: as a list of words
const WRITER_COLUMNS = [
  'log_id', 'is_deleted', 'tenant_id', 'notification_id', 'setting_id', 'template_id', 'notification_type', 'channel',
  'priority', 'priority_level', 'recipient_type', 'recipient_address', 'subject', 'message_body', 'message_format',
  'send_status', 'send_attempts', 'max_retry_count', 'retry_count', 'scheduled_at', 'next_retry_at', 'first_attempt_at',
  'sent_at', 'delivered_at', 'opened_at', 'response_code', 'response_message', 'error_message', 'error_details',
  'failure_reason', 'integration_config_id', 'fallback_channel', 'fallback_recipient', 'fallback_integration_config_id',
  'created_at', 'updated_at', 'created_by', 'updated_by',
] as const;

/** What says how a notification stands, and the keys by which rows are found. */
// biome-ignore format: as a list of words
const OUTCOME_COLUMNS = [
  'log_id', 'tenant_id', 'notification_id', 'notification_type', 'channel', 'priority', 'send_status', 'send_attempts',
  'retry_count', 'max_retry_count', 'scheduled_at', 'next_retry_at', 'first_attempt_at', 'sent_at', 'delivered_at',
  'opened_at', 'bounced_at', 'response_code', 'failure_reason', 'error_type', 'fallback_channel', 'created_at',
  'updated_at', 'notification_key', 'history_bucket', 'tenant_created_at',
] as const;

/** As the console has them. */
export type OperatorRole = 'viewer' | 'operator';

/** What rights are granted on. */
export interface Granted extends Construct {
  readonly config: StageConfig;
  readonly encryption: Encryption;
  readonly tables: NotificationTables;
  readonly newsletterTables?: NewsletterTables;
  readonly newsletterQueues?: NewsletterQueues;
  readonly channels: Channels;
  readonly reconciler: Reconciler;
  readonly outcomes?: Outcomes;
}

/** Gives these rights to a grantee, as the grants of CDK's own constructs do. */
export function grantAll(grantee: IGrantable, statements: readonly PolicyStatement[]): Grant {
  return statements
    .map(({ actions, resources: resourceArns, conditions }) =>
      Grant.addToPrincipal({ grantee, actions, resourceArns, conditions }),
    )
    .reduce((all, one) => all.combine(one));
}

/** On these columns only; a request that names none is denied. */
function onColumns(actions: readonly string[], resources: readonly string[], columns: readonly string[], more = {}) {
  const conditions = {
    'ForAllValues:StringEquals': { 'dynamodb:Attributes': [...columns] },
    Null: { 'dynamodb:Attributes': 'false' },
    ...more,
  };
  return new PolicyStatement({ actions: [...actions], resources: [...resources], conditions });
}

/** To put and to correct rows of the table document. A batch would allow deletions, too. */
export function handOverRights({ tables, encryption }: Granted): PolicyStatement[] {
  return [
    onColumns(['dynamodb:PutItem', 'dynamodb:UpdateItem'], [tables.log.tableArn], WRITER_COLUMNS),
    useKeyBy('dynamodb', encryption.dataKey, ['kms:Decrypt', 'kms:GenerateDataKey']),
  ];
}

/**
 * To read what became of notifications, without content and recipient; records of attempts with what providers answered,
 * which may name the recipient. And to have rules on the bus that tells it.
 */
export function outcomeRights(of: Granted): PolicyStatement[] {
  const { log, retryLog } = of.tables;
  const read = ['BatchGetItem', 'GetItem', 'Query'].map((action) => `dynamodb:${action}`);
  const selected = { StringEqualsIfExists: { 'dynamodb:Select': 'SPECIFIC_ATTRIBUTES' } };
  return [
    onColumns(read, [log.tableArn, indexesOf(log)], OUTCOME_COLUMNS, selected),
    on(retryLog, 'GetItem', 'Query'),
    useKeyBy('dynamodb', of.encryption.dataKey, ['kms:Decrypt']),
    ...(of.outcomes ? [rulesOn(of.outcomes)] : []),
  ];
}

function rulesOn({ bus }: Outcomes): PolicyStatement {
  const stack = Stack.of(bus);
  const actions = ['DeleteRule', 'DescribeRule', 'DisableRule', 'EnableRule', 'ListTargetsByRule', 'PutRule'];
  const all = [...actions, 'PutTargets', 'RemoveTargets'].map((action) => `events:${action}`);
  return allow(all, [stack.formatArn({ service: 'events', resource: 'rule', resourceName: `${bus.eventBusName}/*` })]);
}

const indexesOf = ({ tableArn }: Table) => `${tableArn}/index/*`;

/** The rights of the commands of `ops` (docs/runbook.md), of those that change nothing and show no address, or of all. */
export function operatorRights(of: Granted, role: OperatorRole): PolicyStatement[] {
  return [...viewerRights(of), ...(role === 'operator' ? changingRights(of) : [])];
}

function viewerRights(of: Granted): PolicyStatement[] {
  const { tables, newsletterTables: mailing, channels, encryption, config } = of;
  const { log, content, retryLog, pipelineState, audit } = tables;
  const [stack, { stackName }] = [Stack.of(of), deployedStack(of)];
  const letters = Object.values(channels).map(({ deadLetters }) => deadLetters.queueArn);
  return [
    allow(
      ['cloudformation:DescribeStacks'],
      [stack.formatArn({ service: 'cloudformation', resource: 'stack', resourceName: `${stackName}/*` })],
    ),
    on(log, 'BatchGetItem', 'GetItem', 'Scan'),
    on(content, 'GetItem', 'Scan'),
    on(retryLog, 'BatchGetItem', 'GetItem', 'Query'),
    on(pipelineState, 'GetItem', 'Query'),
    on(audit, 'Query'),
    allow(['dynamodb:Query'], [indexesOf(log)]),
    ...(config.api === false ? [] : [on(tables.apiKeys, 'Scan')]),
    ...(mailing
      ? [
          on(mailing.newsletters, 'GetItem', 'Query', 'Scan'),
          allow(
            ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:Query'],
            [mailing.emails, mailing.batches, mailing.recipients].map(({ tableArn }) => tableArn),
          ),
          allow(['dynamodb:Query', 'dynamodb:Scan'], [indexesOf(mailing.emails)]),
        ]
      : []),
    useKeyBy('dynamodb', encryption.dataKey, ['kms:Decrypt']),
    allow(['sqs:GetQueueAttributes'], [...laneArns(channels), ...letters]),
    // A letter that is looked at is shown again at once.
    allow(['sqs:ChangeMessageVisibility', 'sqs:ReceiveMessage'], letters),
    allow(['cloudwatch:DescribeAlarms', 'cloudwatch:GetMetricData'], ['*']),
    ...useKeyOf('sqs', of, config),
  ];
}

/** All but DeleteItem: commands delete no row. */
const CHANGES = ['BatchGetItem', 'GetItem', 'PartiQLInsert', 'PartiQLUpdate', 'PutItem', 'Query', 'Scan', 'UpdateItem'];

function changingRights(of: Granted): PolicyStatement[] {
  const { tables, newsletterTables: mailing, newsletterQueues: queues, channels, encryption, config } = of;
  const { log, content, retryLog, pipelineState, audit, dataKeys } = tables;
  const { recipientKey, recipientHashSecret, dataKey } = encryption;
  const changed = [
    ...[log, content, retryLog, pipelineState, dataKeys],
    ...(config.api === false ? [] : [tables.apiKeys]),
    ...(mailing ? [mailing.newsletters, mailing.members, mailing.emails, mailing.batches, mailing.recipients] : []),
  ];
  const letters = Object.values(channels).map(({ deadLetters }) => deadLetters.queueArn);
  const mayMail = queues !== undefined && config.channels.includes('email');
  const identities = Stack.of(of).formatArn({ service: 'ses', resource: 'identity', resourceName: '*' });
  return [
    allow(
      CHANGES.map((action) => `dynamodb:${action}`),
      changed.map(({ tableArn }) => tableArn),
    ),
    ...useAudit(audit),
    useKeyBy('dynamodb', dataKey, ['kms:Encrypt', 'kms:GenerateDataKey']),
    new PolicyStatement({
      actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
      resources: [recipientKey.keyArn],
      conditions: { StringEquals: { 'kms:EncryptionContext:purpose': Object.values(SEALED) } },
    }),
    decryptSecrets(encryption),
    allow(['secretsmanager:GetSecretValue'], [recipientHashSecret.secretArn]),
    integrationSecrets(of, config, 'A correction asks whose an integration is.').statement,
    allow(
      ['sqs:SendMessage'],
      [...laneArns(channels), ...(queues ? [queues.prepare, queues.send, queues.failures].map(arnOf) : [])],
    ),
    allow(
      ['DeleteMessage', 'ListMessageMoveTasks', 'SendMessage', 'StartMessageMoveTask'].map((one) => `sqs:${one}`),
      letters,
    ),
    allow(['lambda:InvokeFunction'], [of.reconciler.function.functionArn]),
    ...(of.outcomes ? [allow(['events:PutEvents'], [of.outcomes.bus.eventBusArn])] : []),
    ...(mayMail ? [allow(['ses:GetEmailIdentity'], [identities])] : []),
    ...(mayMail ? allowBulk(of, config).map(({ statement }) => statement) : []),
  ];
}

const arnOf = ({ queueArn }: { readonly queueArn: string }) => queueArn;
