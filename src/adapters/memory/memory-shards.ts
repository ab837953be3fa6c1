import { BASE_SHARDS, type IndexShards, type ShardMark } from '../../core/model/work/index-shards.ts';

/** ShardMark in memory: a twin of the item in PipelineState, for tests. */
export class MemoryShards implements ShardMark {
  #marked: IndexShards = BASE_SHARDS;

  async read(): Promise<IndexShards> {
    return this.#marked;
  }

  async raise({ work, history }: IndexShards): Promise<IndexShards> {
    this.#marked = { work: Math.max(work, this.#marked.work), history: Math.max(history, this.#marked.history) };
    return this.#marked;
  }
}
