import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One answer of a receiver, byte by byte, and how it must be read. */
export interface AnswerCase {
  readonly name: string;
  /** In as many packets as there are texts; characters are bytes (latin1). */
  readonly sends: readonly string[];
  /** What the receiver does afterwards: it closes, resets, or neither. */
  readonly ends: 'close' | 'reset' | 'hold';
  /** The answer comes before the request has been read. */
  readonly early?: true;
  /** The status that counts; undefined: no answer came, NETWORK_TIMEOUT. */
  readonly status?: number;
  /** What of the body is read, where it is certain. */
  readonly text?: string;
  /** The body was cut off: where it decides, the acceptance is marked as unclear. */
  readonly cut?: true;
  /** Part of the message, where no answer came. */
  readonly says?: string;
  /** Why it is read so. */
  readonly source: string;
}

/** A case per line. `{{60 lines}}` stands for headers of a kilobyte each, `{{9 x}}` for nine letters. */
export const ANSWERS: readonly AnswerCase[] = readFileSync(join(import.meta.dirname, 'cases.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line))
  .map((one: AnswerCase) => ({ ...one, sends: one.sends.map(expanded) }));

function expanded(text: string): string {
  return text
    .replace(/\{\{(\d+) lines\}\}/g, (_, count) => `X: ${'x'.repeat(1_000)}\r\n`.repeat(Number(count)))
    .replace(/\{\{(\d+) x\}\}/g, (_, count) => 'x'.repeat(Number(count)));
}
