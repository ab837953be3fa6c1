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
import type { Construct } from 'constructs';
import type { IndexSchema, KeyAttribute, TableSchema } from '../../../src/adapters/dynamodb/schema.ts';
import { retains } from '../../config/parts.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import { tableRemovalPolicyOf } from './removal-policy.ts';

export interface TableProps {
  readonly config: StageConfig;
  readonly key: Key;
}

/**
 * A table of its schema, billed on demand, encrypted with our key, and recoverable to any second of the last 35 days.
 */
// Table, not TableV2: CloudFormation then makes one CreateTable call, as local set-ups do, and there are no replicas
// with their restrictions.
export function createTable(scope: Construct, id: string, schema: TableSchema, { config, key }: TableProps): Table {
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
