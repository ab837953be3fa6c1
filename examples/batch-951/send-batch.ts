import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { BatchNotification, Notification, NotificationClient } from '../../src/client/index.ts';

export interface BatchRun {
  /** Name of the mailing. Each recipient gets one notification per run, however often the run is started. */
  readonly run: string;
  readonly recipients: string;
  readonly message: Omit<Notification, 'recipient'>;
  /** Recipients per slice. */
  readonly slice: number;
}

export interface BatchTally {
  readonly accepted: number;
  /** Those of the accepted that an earlier start of the same run handed over. */
  readonly repeated: number;
  readonly spooled: number;
  readonly refused: number;
}

/** Hands a mailing over, slice by slice. An aborted signal ends it after the current slice. */
export async function sendMailing(
  client: NotificationClient,
  { run, recipients, message, slice }: BatchRun,
  onProgress: (tally: BatchTally) => void,
  signal?: AbortSignal,
): Promise<BatchTally> {
  const tally = { accepted: 0, repeated: 0, spooled: 0, refused: 0 };
  for await (const group of recipientsIn(recipients, slice)) {
    if (signal?.aborted) break;
    const results = await client.sendBatch(
      group.map((recipient) => notificationOf(run, message, recipient)),
      signal && { signal },
    );
    for (const result of results) {
      tally[result.state]++;
      if (result.state === 'accepted' && result.repeat) tally.repeated++;
    }
    onProgress({ ...tally });
  }
  return tally;
}

/** No part of the notification depends on the time, so its idempotency key is the same in every start of the run. */
function notificationOf(run: string, message: BatchRun['message'], recipient: Recipient): BatchNotification {
  const { id, ...fields } = recipient;
  return { notification_id: `${run}-${id}`, ...message, ...fields };
}

/** A line of the file of recipients. Its fields replace those of the message. */
interface Recipient extends Partial<BatchNotification> {
  /** Unique in the file, and the same each time the file is read. */
  readonly id: string;
  readonly recipient: string;
}

/**
 * Reads a file with one JSON object per line, slice by slice, so that its size does not matter.
 * @throws Error that names a wrong line without showing its content
 */
async function* recipientsIn(path: string, slice: number): AsyncGenerator<Recipient[]> {
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
