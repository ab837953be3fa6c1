import { appendFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

/** Takes a line for the runtime's own log. A line never holds the content of an event. */
export type Log = (line: string) => void;

export function fileLog(path: string): Log {
  return (line) => appendFileSync(path, `${new Date().toISOString()} ${line.replaceAll('\n', ' ')}\n`);
}

/** Waits; an abort of the signal ends the wait early. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await setTimeout(milliseconds, undefined, { signal }).catch(() => {});
}
