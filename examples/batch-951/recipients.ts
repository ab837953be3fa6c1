import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { BatchNotification } from '../../src/client/index.ts';

/** A line of the file of recipients. Its fields replace those of the message. */
export interface Recipient extends Partial<BatchNotification> {
  /** Unique in the file, and the same each time the file is read. */
  readonly id: string;
  readonly recipient: string;
}

/**
 * Reads a file with one JSON object per line, slice by slice, so that its size does not matter.
 * @throws Error that names a wrong line without showing its content
 */
export async function* recipientsIn(path: string, slice: number): AsyncGenerator<Recipient[]> {
  let found: Recipient[] = [];
  let number = 0;
  for await (const line of createInterface({ input: createReadStream(path, 'utf8') })) {
    number++;
    if (line.trim() === '') continue;
    found.push(recipientOf(line, `${path}:${number}`));
    if (found.length === slice) {
      yield found;
      found = [];
    }
  }
  if (found.length > 0) yield found;
}

function recipientOf(line: string, where: string): Recipient {
  let parsed: Partial<Recipient>;
  try {
    parsed = JSON.parse(line);
  } catch {
    throw new Error(`${where} is not JSON; expected {"id":"…","recipient":"…"}`);
  }
  const { id, recipient } = parsed;
  if (typeof id !== 'string' || typeof recipient !== 'string') {
    throw new Error(`${where} lacks id or recipient; expected {"id":"…","recipient":"…"}`);
  }
  return { ...parsed, id, recipient };
}
