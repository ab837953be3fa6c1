import type { IndexShards } from '../../../src/core/model/work/index-shards.ts';
import type { StageConfig } from '../../config/stage-config.ts';

/** Over how many partitions new rows are spread: the variable INDEX_SHARDS of the functions. */
export function indexShardsJson({ indexShards }: StageConfig): string {
  return JSON.stringify(indexShards satisfies IndexShards);
}
