import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { appendPrivately, writePrivateFile } from '../../processes/private-file.ts';

/** Takes a line for the runtime's own log. A line never holds the content of an event. */
export type Log = (line: string) => void;

export function fileLog(path: string): Log {
  return (line) => appendPrivately(path, `${new Date().toISOString()} ${line.replaceAll('\n', ' ')}\n`);
}

/** Waits; an abort of the signal ends the wait early. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await setTimeout(milliseconds, undefined, { signal }).catch(() => {});
}

/**
 * A file with a JSON value per line. Without a file nothing is kept.
 * @returns what was written before, but not a line that a killed runtime has cut: the next one would go on there
 */
export function jsonLines<T>(file: string | undefined) {
  if (file === undefined) return { before: [], append: () => {} };
  mkdirSync(dirname(file), { recursive: true });
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  if (whole !== text) writePrivateFile(file, whole);
  const lines = whole.split('\n').slice(0, -1);
  return {
    before: lines.map((line): T => JSON.parse(line)),
    append: (value: T) => appendPrivately(file, `${JSON.stringify(value)}\n`),
  };
}

/** What an earlier runtime has left in a file; `otherwise` when there is none, or it cannot be read. */
export function readLeft<T>(path: string, otherwise: T): T {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return otherwise;
  }
}

/** Writes JSON so that a reader, and who starts after a kill, finds what was there before or all of it. */
export function writeWhole(path: string, value: object): void {
  writePrivateFile(path, `${JSON.stringify(value, null, 2)}\n`);
}
