import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { CHANNELS, type Channel } from '../../core/model/channels.ts';
import type { NotificationRow } from '../../core/model/notification.ts';
import { stateOf } from '../../core/model/row-state.ts';
import type { Endpoints } from '../runtime/endpoints-file.ts';

/** Outcomes of a notification, in the demo's words. */
export const FINDINGS = ['delivered', 'delivered later', 'waiting', 'permanent error', 'dead letter'] as const;
export type Finding = (typeof FINDINGS)[number];

export interface DemoReport {
  readonly counts: Readonly<Record<Channel, Readonly<Record<Finding, number>>>>;
  /** One notification per finding that occurred. */
  readonly examples: Partial<Readonly<Record<Finding, NotificationRow>>>;
  /** Messages in the dead-letter queues. */
  readonly deadLetters: Readonly<Record<Channel, number>>;
}

const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };

export async function readReport(endpoints: Endpoints): Promise<DemoReport> {
  const rows = await readRows(endpoints);
  const none = () => Object.fromEntries(FINDINGS.map((finding) => [finding, 0])) as Record<Finding, number>;
  const counts = perChannel(none);
  const examples: Partial<Record<Finding, NotificationRow>> = {};
  for (const row of rows) {
    const finding = findingOf(row);
    counts[row.channel][finding] += 1;
    examples[finding] ??= row;
  }
  return { counts, examples, deadLetters: await countDeadLetters(endpoints) };
}

/** Number of scheduled retries and running attempts. */
export function stillWaiting({ counts }: DemoReport): number {
  return CHANNELS.reduce((sum, channel) => sum + counts[channel].waiting, 0);
}

/** Letters that SQS has not moved to their queue yet: their rows are dead already. */
export function lettersUnderWay({ counts, deadLetters }: DemoReport): number {
  return CHANNELS.reduce((sum, channel) => sum + Math.max(0, counts[channel]['dead letter'] - deadLetters[channel]), 0);
}

export function findingOf(row: NotificationRow): Finding {
  if (row.send_status === 'SUCCESS') return row.last_attempt > 1 ? 'delivered later' : 'delivered';
  if (row.failure_reason === undefined) return 'waiting';
  // Not by the reason alone: a malformed row that was set aside has no letter.
  return stateOf(row, new Date()) === 'dead' ? 'dead letter' : 'permanent error';
}

async function readRows({ endpoints, region, tables }: Endpoints): Promise<NotificationRow[]> {
  const client = new DynamoDBClient({ endpoint: endpoints.dynamodb, region, credentials });
  const rows: NotificationRow[] = [];
  let start: Record<string, never> | undefined;
  try {
    do {
      const page = await client.send(
        new ScanCommand({ TableName: tables.notification_log, ...(start && { ExclusiveStartKey: start }) }),
      );
      // A row that the indexer has not seen yet has no `channel`. After the demo's sweep there is none.
      rows.push(...(page.Items ?? []).map((item) => unmarshall(item) as NotificationRow).filter((row) => row.channel));
      start = page.LastEvaluatedKey as typeof start;
    } while (start !== undefined);
  } finally {
    client.destroy();
  }
  return rows;
}

async function countDeadLetters({ endpoints, region, queues }: Endpoints): Promise<Record<Channel, number>> {
  const client = new SQSClient({ endpoint: endpoints.sqs, region, credentials, useQueueUrlAsEndpoint: false });
  const counts = perChannel(() => 0);
  try {
    for (const channel of CHANNELS) {
      const { Attributes } = await client.send(
        new GetQueueAttributesCommand({
          QueueUrl: queues[channel].dead_letter,
          AttributeNames: ['ApproximateNumberOfMessages'],
        }),
      );
      counts[channel] = Number(Attributes?.['ApproximateNumberOfMessages'] ?? 0);
    }
  } finally {
    client.destroy();
  }
  return counts;
}

function perChannel<T>(value: () => T): Record<Channel, T> {
  return Object.fromEntries(CHANNELS.map((channel) => [channel, value()])) as Record<Channel, T>;
}
