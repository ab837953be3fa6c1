import { randomUUID } from 'node:crypto';
import type { SQSEvent } from 'aws-lambda';
import { sqsEvent } from '../../../src/local/emulator/sources/sqs-event.ts';
import { LOCAL_REGION } from '../../../src/local/emulator/template/references.ts';
import type { BulkReceipt } from '../../../src/local/providers/ses/bulk-mails.ts';

/** An event of SES about several mails, which one invocation finds together. */
export interface MailEvents {
  readonly mails: readonly Pick<BulkReceipt, 'tags'>[];
  readonly event: 'Send' | 'Delivery' | 'Open' | 'Click';
}

/** The invocations of the function of newsletter events, with messages as the rules of EventBridge make them. */
export function eventsOf(groups: readonly MailEvents[], queueArn: string): SQSEvent[] {
  return groups.map(({ mails, event }) => {
    const messages = mails.map(({ tags }) => ({
      MessageId: randomUUID(),
      ReceiptHandle: randomUUID(),
      Body: JSON.stringify({
        version: 1,
        event,
        at: new Date().toISOString(),
        email_id: tags['email_id'],
        chunk: tags['chunk'],
        n: tags['n'],
      }),
    }));
    return sqsEvent(messages, queueArn, LOCAL_REGION);
  });
}
