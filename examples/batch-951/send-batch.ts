import type { BatchNotification, Notification, NotificationClient } from '../../src/client/index.ts';
import { type Recipient, recipientsIn } from './recipients.ts';

export interface BatchRun {
  /** Names this mailing. The same run sends each recipient one notification, however often it is started. */
  readonly run: string;
  readonly recipients: string;
  readonly message: Omit<Notification, 'recipient'>;
  /** Recipients a slice. */
  readonly slice: number;
}

export interface BatchTally {
  readonly accepted: number;
  /** Of the accepted: handed over by an earlier start of the same run. */
  readonly repeated: number;
  readonly spooled: number;
  readonly refused: number;
}

/** Hands a mailing over, slice by slice; told to stop, it ends with what it has begun. */
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

/** Nothing in it depends on when or how often it is made: so its idempotency key does not, either. */
function notificationOf(run: string, message: BatchRun['message'], recipient: Recipient): BatchNotification {
  const { id, ...own } = recipient;
  return { notification_id: `${run}-${id}`, ...message, ...own };
}
