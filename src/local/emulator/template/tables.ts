import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import { type JsonObject, listAt, objectAt } from '../../support/json.ts';

/**
 * CreateTable's input for a table of the template. Encryption, backups, tags and TTL have no effect on a stand-in and
 * are left out. Keys, indexes and stream are taken over unchanged.
 */
export function tableFrom(name: string, properties: JsonObject): CreateTableCommandInput {
  const at = (key: string) => `${name}.${key}`;
  const stream = properties['StreamSpecification'];
  const input = {
    TableName: name,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: listAt(properties['AttributeDefinitions'], at('AttributeDefinitions')),
    KeySchema: listAt(properties['KeySchema'], at('KeySchema')),
    ...indexes('GlobalSecondaryIndexes', properties, at('GlobalSecondaryIndexes')),
    ...indexes('LocalSecondaryIndexes', properties, at('LocalSecondaryIndexes')),
    ...(stream === undefined
      ? {}
      : {
          StreamSpecification: {
            StreamEnabled: true,
            StreamViewType: objectAt(stream, at('StreamSpecification'))['StreamViewType'],
          },
        }),
  };
  // The template uses the names and values of CreateTable; the service checks them.
  return input as unknown as CreateTableCommandInput;
}

function indexes(key: string, properties: JsonObject, at: string): JsonObject {
  const all = listAt(properties[key], at);
  if (all.length === 0) return {};
  return {
    [key]: all.map((item) => {
      const index = objectAt(item, at);
      return { IndexName: index['IndexName'], KeySchema: index['KeySchema'], Projection: index['Projection'] };
    }),
  };
}
