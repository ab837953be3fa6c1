import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive } from '../../../adapters/is-alive.ts';
import { RedriveRunningError } from '../../../adapters/sqs/redrive.ts';
import type { Channel } from '../../../core/model/channels.ts';

/**
 * SQS allows one redrive of a queue at a time; where a stand-in moves the messages, this does.
 * @returns lets go
 * @throws RedriveRunningError when another command is at it
 */
export function lockRedrive(directory: string, channel: Channel): () => void {
  const path = join(directory, `redrive-${channel}.pid`);
  mkdirSync(directory, { recursive: true });
  const holder = holderOf(path);
  if (holder !== undefined && isAlive(holder)) throw alreadyRunning(channel, holder);
  rmSync(path, { force: true });
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
  } catch (cause) {
    throw alreadyRunning(channel, holderOf(path), cause);
  }
  return () => rmSync(path, { force: true });
}

function alreadyRunning(channel: Channel, pid: number | undefined, cause?: unknown): RedriveRunningError {
  return new RedriveRunningError(
    `A redrive of ${channel} is already running (process ${pid ?? 'unknown'}): wait for its end, then redrive again.`,
    { cause },
  );
}

function holderOf(path: string): number | undefined {
  try {
    return Number(readFileSync(path, 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}
