import { type DynamoDBClient, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { BASE_SHARDS, type IndexShards, type ShardMark } from '../../../core/model/index-shards.ts';
import { SHARDS_KIND } from '../schema.ts';
import { ifConditionHolds } from '../table/calls.ts';
import { type Item, toValue } from '../table/item.ts';

const Key = { kind: { S: SHARDS_KIND }, id: { S: 'indexes' } };
/** Others that raise the mark at the same moment are instances of the same deployment, with the same numbers. */
const TRIES = 3;

/** ShardMark on PipelineState: one item, which is absent until a stage configures more than every stage has. */
export function createShardMark(client: DynamoDBClient, table: string): ShardMark {
  async function read(): Promise<IndexShards> {
    const { Item } = await client.send(new GetItemCommand({ TableName: table, Key, ConsistentRead: true }));
    return fromItem(Item);
  }

  return {
    read,
    async raise(to) {
      for (let tries = 1; ; tries++) {
        const before = await read();
        const work = Math.max(to.work, before.work);
        const history = Math.max(to.history, before.history);
        const written = await ifConditionHolds(
          client.send(
            new UpdateItemCommand({
              TableName: table,
              Key,
              UpdateExpression: 'SET work_shards = :work, history_shards = :history',
              ConditionExpression:
                'attribute_not_exists(work_shards) OR (work_shards <= :work AND history_shards <= :history)',
              ExpressionAttributeValues: { ':work': toValue(work), ':history': toValue(history) },
              ReturnValues: 'ALL_NEW',
            }),
          ),
          undefined,
        );
        if (written !== undefined) return fromItem(written.Attributes);
        if (tries === TRIES)
          throw new Error('The number of index shards could not be raised: others keep changing it.');
      }
    },
  };
}

function fromItem(item: Item = {}): IndexShards {
  return {
    work: Number(item['work_shards']?.N ?? BASE_SHARDS.work),
    history: Number(item['history_shards']?.N ?? BASE_SHARDS.history),
  };
}
