import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** How far each shard of a stream was handled. */
export interface Checkpoints {
  get(key: string): string | undefined;
  set(key: string, sequenceNumber: string): void;
}

/** A table that was made anew has another stream, whose numbers begin anew. */
export function checkpointKey(streamArn: string, shardId: string): string {
  return `${streamArn} ${shardId}`;
}

/** Kept in memory: a fresh runtime has fresh streams. */
export function memoryCheckpoints(): Checkpoints {
  const positions = new Map<string, string>();
  return {
    get: (key) => positions.get(key),
    set: (key, position) => void positions.set(key, position),
  };
}

/**
 * Kept in a file, so that a restarted runtime goes on where the last one was. A kill between handling and noting gives a
 * batch twice, as Lambda may; it never skips one.
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
