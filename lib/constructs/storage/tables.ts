import {
  type Attribute,
  AttributeType,
  BillingMode,
  ProjectionType,
  StreamViewType,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import {
  type IndexSchema,
  type KeyAttribute,
  NEWSLETTER_TABLES,
  TABLES,
  type TableSchema,
  withChanges,
} from '../../../src/adapters/dynamodb/schema.ts';
import { retains } from '../../config/parts.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import { type Encryption, presentPart, tableRemovalPolicyOf } from './encryption.ts';

/** The tables of notifications (src/adapters/dynamodb/schema.ts). */
export class NotificationTables extends Construct {
  readonly log: Table;
  readonly content: Table;
  readonly retryLog: Table;
  readonly pipelineState: Table;
  readonly #apiKeys: Table | undefined;
  readonly dataKeys: Table;
  readonly audit: Table;

  constructor(scope: Construct, id: string, props: TableProps) {
    super(scope, id);
    this.log = createTable(this, 'Log', TABLES.notification_log, props);
    this.content = createTable(this, 'Content', TABLES.notification_content, props);
    this.retryLog = createTable(this, 'RetryLog', TABLES.notification_retry_log, props);
    const { pipeline_state } = TABLES;
    const breakers = props.config.outcomes ? withChanges(pipeline_state) : pipeline_state;
    this.pipelineState = createTable(this, 'PipelineState', breakers, props);
    if (props.config.api !== false) this.#apiKeys = createTable(this, 'ApiKeys', TABLES.api_keys, props);
    this.audit = createTable(this, 'Audit', TABLES.audit, props);
    this.dataKeys = createTable(this, 'DataKeys', TABLES.data_keys, props);
  }

  get apiKeys(): Table {
    return presentPart(this.#apiKeys, 'api');
  }
}

/** The tables of newsletters (src/adapters/dynamodb/schema.ts). */
export class NewsletterTables extends Construct {
  readonly newsletters: Table;
  readonly members: Table;
  readonly emails: Table;
  readonly batches: Table;
  readonly recipients: Table;

  constructor(scope: Construct, id: string, props: TableProps) {
    super(scope, id);
    const { outcomes, newsletters } = props.config;
    const told = (schema: TableSchema) => (outcomes && newsletters === true ? withChanges(schema) : schema);
    this.newsletters = createTable(this, 'Newsletters', NEWSLETTER_TABLES.newsletters, props);
    this.members = createTable(this, 'Members', told(NEWSLETTER_TABLES.members), props);
    this.emails = createTable(this, 'Emails', told(NEWSLETTER_TABLES.emails), props);
    this.batches = createTable(this, 'Batches', NEWSLETTER_TABLES.email_batches, props);
    this.recipients = createTable(this, 'Recipients', NEWSLETTER_TABLES.email_recipients, props);
  }
}

/** What every part of a stage works with. */
export interface StageStorage {
  readonly config: StageConfig;
  readonly tables: NotificationTables;
  readonly encryption: Encryption;
}

interface TableProps {
  readonly config: StageConfig;
  readonly key: IKey;
}

/**
 * A table of its schema, billed on demand, encrypted with our key, and recoverable to any second of the last 35 days.
 */
// Table, not TableV2: CloudFormation then makes one CreateTable call, as local set-ups do, and there are no replicas
// with their restrictions.
function createTable(scope: Construct, id: string, schema: TableSchema, { config, key }: TableProps): Table {
  const table = new Table(scope, id, {
    ...keys(schema),
    billingMode: BillingMode.PAY_PER_REQUEST,
    encryption: TableEncryption.CUSTOMER_MANAGED,
    encryptionKey: key,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    ...(schema.ttlAttribute && { timeToLiveAttribute: schema.ttlAttribute }),
    ...(schema.stream === undefined ? {} : { stream: StreamViewType[schema.stream] }),
    deletionProtection: retains(config),
    removalPolicy: tableRemovalPolicyOf(config),
  });
  for (const [indexName, index] of Object.entries(schema.indexes)) {
    table.addGlobalSecondaryIndex({ indexName, ...keys(index), ...projection(index) });
  }
  return table;
}

function keys({ partitionKey, sortKey }: Pick<TableSchema, 'partitionKey' | 'sortKey'>) {
  return { partitionKey: attribute(partitionKey), ...(sortKey === undefined ? {} : { sortKey: attribute(sortKey) }) };
}

function attribute({ name, type }: KeyAttribute): Attribute {
  return { name, type: type === 'S' ? AttributeType.STRING : AttributeType.NUMBER };
}

function projection({ projection }: IndexSchema) {
  return projection === 'KEYS_ONLY'
    ? { projectionType: ProjectionType.KEYS_ONLY }
    : { projectionType: ProjectionType.INCLUDE, nonKeyAttributes: [...projection] };
}
