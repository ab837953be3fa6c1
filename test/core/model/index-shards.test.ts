import { describe, expect, it } from 'vitest';
import {
  BASE_SHARDS,
  MOST_SHARDS,
  type ShardMark,
  shardsForReading,
  shardsForWriting,
} from '../../../src/core/model/index-shards.ts';
import { allShards, movedQueue, workQueueOf } from '../../../src/core/model/work-index.ts';
import { MemoryShards } from '../../../tools/simulation/twins/pipeline-state.ts';

const away: ShardMark = {
  read: () => Promise.reject(new Error('storage is down')),
  raise: () => Promise.reject(new Error('storage is down')),
};

describe('the shards of the indexes', () => {
  it('are marked before a writer uses more of them than any before', async () => {
    const mark = new MemoryShards();
    expect(await shardsForWriting({ work: 16, history: 4 }, mark)()).toEqual({ work: 16, history: 4 });
    expect(await mark.read()).toEqual({ work: 16, history: 4 });
  });

  it('never become fewer, whatever is configured later', async () => {
    const mark = new MemoryShards();
    await shardsForWriting({ work: 16, history: 12 }, mark)();
    expect(await shardsForWriting({ work: 8, history: 20 }, mark)()).toEqual({ work: 16, history: 20 });
    expect(await shardsForReading(BASE_SHARDS, mark)()).toEqual({ work: 16, history: 20 });
  });

  it('are asked for once per writer, and by every reader anew', async () => {
    const mark = new MemoryShards();
    let reads = 0;
    const counted: ShardMark = {
      read: () => {
        reads += 1;
        return mark.read();
      },
      raise: (to) => mark.raise(to),
    };
    const [write, read] = [shardsForWriting(BASE_SHARDS, counted), shardsForReading(BASE_SHARDS, counted)];
    await Promise.all([write(), write(), write()]);
    expect(reads).toBe(1);
    await read();
    await mark.raise({ work: 32, history: 4 });
    expect(await read()).toEqual({ work: 32, history: 4 });
  });

  it('are those that everyone reads while the mark cannot be reached', async () => {
    let isDown = true;
    const mark = new MemoryShards();
    const flaky: ShardMark = { read: () => (isDown ? away.read() : mark.read()), raise: (to) => mark.raise(to) };
    const write = shardsForWriting({ work: 64, history: 64 }, flaky);
    expect(await write()).toEqual(BASE_SHARDS);
    isDown = false;
    expect(await write()).toEqual({ work: 64, history: 64 });
    expect(await shardsForReading({ work: 64, history: 4 }, away)()).toEqual({ work: 64, history: 4 });
  });
});

describe('the partition of a row', () => {
  it('is one of those that are read, for any number of shards', () => {
    const ids = Array.from({ length: 2_000 }, (_, i) => `log-${i}`);
    for (const shards of [8, 13, MOST_SHARDS]) {
      const used = new Set(ids.map((log_id) => workQueueOf('due', 'info', log_id, shards)));
      expect([...used].sort()).toEqual(allShards('due', 'info', shards).sort());
    }
  });

  it('keeps its shard when its state changes', () => {
    expect(movedQueue('dead', { work_queue: 'due#normal#41', priority: 'normal', log_id: 'log-1' })).toBe(
      'dead#normal#41',
    );
  });

  it.each([undefined, 'due#normal#64', 'due#normal', 'elsewhere'])(
    'is one that everyone reads if it was %s',
    (work_queue) => {
      const row = { ...(work_queue && { work_queue }), priority: 'normal', log_id: 'log-1' } as const;
      expect(allShards('dead', 'normal', BASE_SHARDS.work)).toContain(movedQueue('dead', row));
    },
  );
});
