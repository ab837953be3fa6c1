import * as v from 'valibot';
import { BASE_SHARDS, MOST_SHARDS } from '../../core/model/work/index-shards.ts';

const shards = (base: number) => v.pipe(v.number(), v.integer(), v.minValue(base), v.maxValue(MOST_SHARDS));

/** The functions' variable INDEX_SHARDS, written by lib/constructs/storage/index-shards-config.ts. */
export const indexShardsFromJson = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ work: shards(BASE_SHARDS.work), history: shards(BASE_SHARDS.history) }),
);
