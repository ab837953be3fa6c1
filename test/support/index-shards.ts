import { BASE_SHARDS, type IndexShards } from '../../src/core/model/index-shards.ts';

/** The shards of a stage that configures none. */
export const baseShards = async (): Promise<IndexShards> => BASE_SHARDS;
