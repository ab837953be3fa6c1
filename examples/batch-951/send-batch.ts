import type { BatchNotification, Notification, NotificationClient } from '../../src/client/index.ts';
import { type Recipient, recipientsIn } from './recipients.ts';

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
