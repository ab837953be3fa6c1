import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { BASE_SHARDS, type IndexShards, type ShardMark } from '../../../core/model/index-shards.ts';
import { SHARDS_KIND } from '../schema.ts';
import type { Item } from '../table/item.ts';
import { getItem } from '../table/reads.ts';
import { updateItem } from '../table/writes.ts';

const Key = { kind: { S: SHARDS_KIND }, id: { S: 'indexes' } };
/** Others that raise the mark at the same moment are instances of the same deployment, with the same numbers. */
const TRIES = 3;

/** ShardMark on PipelineState: one item, which is absent until a stage configures more than every stage has. */
export function createShardMark(client: DynamoDBClient, table: string): ShardMark {
  async function read(): Promise<IndexShards> {
    return fromItem(await getItem(client, table, Key));
  }

  return {
    read,
    async raise(to) {
      for (let tries = 1; ; tries++) {
        const before = await read();
        const work = Math.max(to.work, before.work);
        const history = Math.max(to.history, before.history);
        const set = { work_shards: work, history_shards: history };
        const { applied } = await updateItem(client, table, Key, { set }, [
          [['work_shards', '=', undefined]],
          [
            ['work_shards', '<=', work],
            ['history_shards', '<=', history],
          ],
        ]);
        if (applied) return { work, history };
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
