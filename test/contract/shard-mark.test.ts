import { describe, expect, it } from 'vitest';
import { createShardMark } from '../../src/adapters/dynamodb/indexing/shard-mark.ts';
import { BASE_SHARDS, type ShardMark } from '../../src/core/model/index-shards.ts';
import { MemoryShards } from '../../tools/simulation/twins/pipeline-state.ts';
import { describeOnDynamoDb } from './on-dynamodb.ts';

/** One mark per implementation, so the tests go on where the one before ended. */
function suite(mark: () => ShardMark): void {
  it('has what every stage has, until it is raised', async () => {
    expect(await mark().read()).toEqual(BASE_SHARDS);
    expect(await mark().raise({ work: 12, history: 4 })).toEqual({ work: 12, history: 4 });
    expect(await mark().read()).toEqual({ work: 12, history: 4 });
  });

  it('keeps the larger number of each index', async () => {
    expect(await mark().raise({ work: 9, history: 10 })).toEqual({ work: 12, history: 10 });
    expect(await mark().raise({ work: 9, history: 5 })).toEqual({ work: 12, history: 10 });
  });

  it('is the largest of all that raise it at the same moment', async () => {
    const raised = [16, 40, 24].map((work, i) => mark().raise({ work, history: 30 - i * 5 }));
    await Promise.allSettled(raised);
    expect((await mark().read()).work).toBeGreaterThanOrEqual(16);
    expect(await mark().raise({ work: 40, history: 30 })).toEqual({ work: 40, history: 30 });
  });
}

describe('the number of index shards in memory', () => {
  const mark = new MemoryShards();
  suite(() => mark);
});

describeOnDynamoDb<ShardMark>(
  'the number of index shards',
  ({ client, tables }) => createShardMark(client, tables.pipeline_state),
  suite,
);
