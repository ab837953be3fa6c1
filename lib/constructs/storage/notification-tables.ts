import {
  type Attribute,
  AttributeType,
  BillingMode,
  ProjectionType,
  StreamViewType,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb';
import type { Key } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import {
  type IndexSchema,
  type KeyAttribute,
  TABLES,
  type TableRole,
  type TableSchema,
} from '../../../src/adapters/dynamodb/schema.ts';
import { isProduction, type StageConfig } from '../../config/stage-config.ts';
import { removalPolicyOf } from './removal-policy.ts';

export interface NotificationTablesProps {
  readonly config: StageConfig;
  readonly key: Key;
}

/**
 * The tables that src/adapters/dynamodb/schema.ts describes. They are billed on demand, encrypted with our key, and
 * recoverable to any second of the last 35 days.
 */
export class NotificationTables extends Construct {
  readonly log: Table;
  readonly content: Table;
  readonly retryLog: Table;
  readonly pipelineState: Table;
  readonly apiKeys: Table;
  readonly dataKeys: Table;

  constructor(scope: Construct, id: string, props: NotificationTablesProps) {
    super(scope, id);
    this.log = this.table('Log', 'notification_log', props);
    this.content = this.table('Content', 'notification_content', props);
    this.retryLog = this.table('RetryLog', 'notification_retry_log', props);
    this.pipelineState = this.table('PipelineState', 'pipeline_state', props);
    this.apiKeys = this.table('ApiKeys', 'api_keys', props);
    this.dataKeys = this.table('DataKeys', 'data_keys', props);
  }

  // Table, not TableV2: CloudFormation then makes one CreateTable call, as local set-ups do, and there are no replicas
  // with their restrictions.
  private table(id: string, role: TableRole, { config, key }: NotificationTablesProps): Table {
    const schema: TableSchema = TABLES[role];
    const table = new Table(this, id, {
      ...keys(schema),
      billingMode: BillingMode.PAY_PER_REQUEST,
      encryption: TableEncryption.CUSTOMER_MANAGED,
      encryptionKey: key,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      ...(schema.ttlAttribute && { timeToLiveAttribute: schema.ttlAttribute }),
      ...(schema.stream === undefined ? {} : { stream: StreamViewType[schema.stream] }),
      deletionProtection: isProduction(config),
      removalPolicy: removalPolicyOf(config),
    });
    for (const [indexName, index] of Object.entries(schema.indexes)) {
      table.addGlobalSecondaryIndex({ indexName, ...keys(index), ...projection(index) });
    }
    return table;
  }
}

function keys({ partitionKey, sortKey }: Pick<TableSchema, 'partitionKey' | 'sortKey'>) {
  return {
    partitionKey: attribute(partitionKey),
    ...(sortKey === undefined ? {} : { sortKey: attribute(sortKey) }),
  };
}

function attribute({ name, type }: KeyAttribute): Attribute {
  return { name, type: type === 'S' ? AttributeType.STRING : AttributeType.NUMBER };
}

function projection({ projection }: IndexSchema) {
  return projection === 'KEYS_ONLY'
    ? { projectionType: ProjectionType.KEYS_ONLY }
    : { projectionType: ProjectionType.INCLUDE, nonKeyAttributes: [...projection] };
}
