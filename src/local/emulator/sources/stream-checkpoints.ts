import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** The last handled position per shard of a stream. */
export interface Checkpoints {
  get(key: string): string | undefined;
  set(key: string, sequenceNumber: string): void;
}

/** The stream's ARN is part of the key, because a table that was created again has a new stream with other numbers. */
export function checkpointKey(streamArn: string, shardId: string): string {
  return `${streamArn} ${shardId}`;
}

/** Checkpoints in memory, for a runtime whose tables do not survive it. */
export function memoryCheckpoints(): Checkpoints {
  const positions = new Map<string, string>();
  return {
    get: (key) => positions.get(key),
    set: (key, position) => void positions.set(key, position),
  };
}

/**
 * Checkpoints in a file, so that a restarted runtime continues where the last one stopped. A kill between handling a
 * batch and recording it repeats the batch, as Lambda may; no batch is skipped.
 */
export function fileCheckpoints(path: string): Checkpoints {
  const positions = new Map(Object.entries(read(path)));
  return {
    get: (key) => positions.get(key),
    set(key, position) {
      positions.set(key, position);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(`${path}.new`, JSON.stringify(Object.fromEntries(positions)));
      renameSync(`${path}.new`, path);
    },
  };
}

function read(path: string): Record<string, string> {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return {};
  }
}
