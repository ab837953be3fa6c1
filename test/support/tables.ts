import { CreateTableCommand, type DynamoDBClient, type KeySchemaElement } from '@aws-sdk/client-dynamodb';
import {
  type KeyAttribute,
  NEWSLETTER_TABLES,
  type NewsletterTableRole,
  TABLES,
  type TableSchema,
} from '../../src/adapters/dynamodb/schema.ts';

export interface TableNames extends Readonly<Record<NewsletterTableRole, string>> {
  readonly notification_log: string;
  readonly notification_content: string;
  readonly notification_retry_log: string;
  readonly pipeline_state: string;
  readonly api_keys: string;
  readonly data_keys: string;
  readonly audit: string;
}

/** Creates the tables as the infrastructure does; the suffix makes their names unique. */
export async function createTables(client: DynamoDBClient, suffix: string): Promise<TableNames> {
  const names = {
    notification_log: `NotificationLog-${suffix}`,
    notification_content: `NotificationContent-${suffix}`,
    notification_retry_log: `NotificationRetryLog-${suffix}`,
    pipeline_state: `PipelineState-${suffix}`,
    api_keys: `ApiKeys-${suffix}`,
    newsletters: `Newsletters-${suffix}`,
    members: `Members-${suffix}`,
    emails: `Emails-${suffix}`,
    email_batches: `EmailBatches-${suffix}`,
    email_recipients: `EmailRecipients-${suffix}`,
    data_keys: `DataKeys-${suffix}`,
    audit: `Audit-${suffix}`,
  };
  const schemas = { ...TABLES, ...NEWSLETTER_TABLES };
  for (const role of Object.keys(schemas) as (keyof typeof schemas)[]) {
    await client.send(createTable(names[role], schemas[role]));
  }
  return names;
}

function createTable(TableName: string, schema: TableSchema): CreateTableCommand {
  const indexes = Object.entries(schema.indexes);
  const keys = [schema, ...Object.values(schema.indexes)].flatMap(({ partitionKey, sortKey }) =>
    sortKey ? [partitionKey, sortKey] : [partitionKey],
  );
  const types = new Map(keys.map(({ name, type }) => [name, type]));
  return new CreateTableCommand({
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    KeySchema: keySchema(schema),
    AttributeDefinitions: [...types].map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
    ...(schema.stream && { StreamSpecification: { StreamEnabled: true, StreamViewType: schema.stream } }),
    ...(indexes.length > 0 && {
      GlobalSecondaryIndexes: indexes.map(([IndexName, index]) => ({
        IndexName,
        KeySchema: keySchema(index),
        Projection:
          index.projection === 'KEYS_ONLY'
            ? { ProjectionType: 'KEYS_ONLY' as const }
            : { ProjectionType: 'INCLUDE' as const, NonKeyAttributes: [...index.projection] },
      })),
    }),
  });
}

function keySchema({
  partitionKey,
  sortKey,
}: {
  partitionKey: KeyAttribute;
  sortKey?: KeyAttribute;
}): KeySchemaElement[] {
  return [
    { AttributeName: partitionKey.name, KeyType: 'HASH' },
    ...(sortKey ? [{ AttributeName: sortKey.name, KeyType: 'RANGE' as const }] : []),
  ];
}
