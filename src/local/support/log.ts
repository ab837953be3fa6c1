import { appendFileSync } from 'node:fs';

/** Takes a line for the runtime's own log. A line never holds the content of an event. */
export type Log = (line: string) => void;

export function fileLog(path: string): Log {
  return (line) => appendFileSync(path, `${new Date().toISOString()} ${line.replaceAll('\n', ' ')}\n`);
}
