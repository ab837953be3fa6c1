import { paginateScan } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { queueCounts } from '../../adapters/sqs/lanes.ts';
import { CHANNELS, type Channel } from '../../core/model/channels.ts';
import { remedyOf } from '../../core/model/error-types.ts';
import type { NotificationRow } from '../../core/model/notification.ts';
import { stateOf } from '../../core/model/row-state.ts';
import type { Colors } from '../../terminal/printable.ts';
import { folded } from '../../terminal/table.ts';
import { type AwsClients, awsClients } from '../emulator/aws-clients.ts';
import type { Endpoints } from '../runtime/endpoints-file.ts';
import type { NewsletterReport } from './demo-newsletter.ts';

/**
 * The demo's summary: the outcomes of the samples, an example of each outcome, the newsletter, and where to look next.
 * @param width columns of the terminal; longer texts go on in the next line
 */
export function describeDemo(
  { newsletter, ...report }: DemoReport & { readonly newsletter?: NewsletterReport },
  endpoints: Endpoints,
  colors: Colors,
  width = 100,
): string {
  return [
    colors.bold(`What became of the ${sumOf(report)} failed notifications`),
    ...sums(report),
    ...underWay(lettersUnderWay(report)),
    '',
    colors.bold('By channel'),
    ...table(report),
    '',
    colors.bold('One of each'),
    ...FINDINGS.flatMap((finding) => example(finding, report.examples[finding], colors, width)),
    '',
    ...(newsletter === undefined ? [] : describeNewsletter(newsletter, endpoints, colors)),
    colors.bold('Where to look next'),
    ...next(report, endpoints),
    '',
  ].join('\n');
}

/** Why each number differs from the one of all. */
const MEANINGS: Readonly<Record<Finding, string>> = {
  delivered: 'delivered by the first retry',
  'delivered later': 'delivered by a later one: their provider was busy or limited the rate',
  waiting: 'waiting for their next retry',
  'permanent error': 'stopped: their recipient does not exist, so nobody can redrive them',
  'dead letter': 'dead: a person decides; each has a letter in a dead-letter queue (DLQ)',
};

const ofAll = ({ counts }: DemoReport, finding: Finding): number =>
  CHANNELS.reduce((sum, channel) => sum + counts[channel][finding], 0);
const sumOf = (report: DemoReport): number => FINDINGS.reduce((sum, finding) => sum + ofAll(report, finding), 0);

/** One line for each outcome that there is; they add up to all. */
function sums(report: DemoReport): string[] {
  return FINDINGS.flatMap((finding) => {
    const count = ofAll(report, finding);
    return count === 0 ? [] : [`  ${String(count).padStart(4)}  ${MEANINGS[finding]}`];
  });
}

function table({ counts, deadLetters }: DemoReport): string[] {
  // All of it has to fit into 80 columns.
  const heads = [...FINDINGS.map((finding) => finding.replace(' error', '')), 'in DLQ'];
  const line = (name: string, cells: readonly (string | number)[]) =>
    `  ${name.padEnd(7)}${cells.map((cell, index) => String(cell).padStart((heads[index] ?? '').length + 2)).join('')}`;
  return [
    line('', heads),
    ...CHANNELS.map((channel) =>
      line(channel, [...FINDINGS.map((finding) => counts[channel][finding]), deadLetters[channel]]),
    ),
  ];
}

function underWay(letters: number): string[] {
  return letters === 0 ? [] : [`  ${letters} of the letters ${letters === 1 ? 'is' : 'are'} on the way to the DLQ.`];
}

const NAME_WIDTH = 15;

function example(finding: Finding, row: NotificationRow | undefined, colors: Colors, width: number): string[] {
  if (row === undefined) return [];
  const what = `${row.log_id}  ${row.channel}, ${row.priority}: `;
  const lines = (text: string, then?: string) =>
    [
      ...folded(text, width - NAME_WIDTH - 4),
      ...(then === undefined ? [] : folded(`→ ${then}`, width - NAME_WIDTH - 4).map(colors.dim)),
    ].map((line, i) => `  ${i === 0 ? colors.cyan(finding.padEnd(NAME_WIDTH)) : ' '.repeat(NAME_WIDTH)}  ${line}`);
  if (row.send_status === 'SUCCESS') return lines(`${what}SUCCESS at retry ${row.last_attempt}`);
  const reason = row.failure_reason ?? row.error_type;
  if (reason === undefined) return lines(`${what}${row.send_status}`);
  const why = row.error_message === undefined ? '' : `, ${row.error_message}`;
  const then =
    row.next_retry_at === undefined ? remedyOf(reason, row, row.channel) : `Tried again at ${row.next_retry_at}.`;
  return lines(`${what}${reason}${why}`, then);
}

function next({ deadLetters }: DemoReport, { endpoints, tables, logs, secrets_file }: Endpoints): string[] {
  const dead = CHANNELS.reduce((sum, channel) => sum + deadLetters[channel], 0);
  return [
    `  console         ${endpoints.console}`,
    `  e-mails         ${endpoints.ses}`,
    `  other channels  ${endpoints.simulator}/_received`,
    `  tables          ${tables.notification_log}`,
    `                  and others, at ${endpoints.dynamodb}`,
    `  functions' logs ${logs}`,
    `  another run     npm run batch:notification-retry -- --local --wait`,
    ...(dead === 0
      ? []
      : [
          `  ${`${dead} dead letters`.padEnd(15)} npm run ops -- list --status dead --local`,
          '                  npm run ops -- show LOG_ID --local',
          '                  Remove the cause (a revoked token is in the file below), then:',
          `                  ${secrets_file}`,
          '                  npm run ops -- dlq redrive --channel slack --local',
          '                  (on AWS also: SQS console, the queue, "Start DLQ redrive")',
        ]),
  ];
}

/** Why somebody gets no newsletter, and what to do about it. */
const REASONS: Readonly<Record<string, string>> = {
  suppressed: 'bounced, complained, or suppressed by an operator',
  repeated_address: 'the address of another member, who got the mail',
  malformed_address: 'no address that mail can be sent to',
  unsubscribed: 'left while the newsletter was sent',
  removed: 'subscription taken away before their turn',
  moved: 'has another address since',
  deleted: 'deleted before their turn',
  erased: 'erased before their turn',
  message_rejected: 'SES refused this one; its neighbours were sent',
};

/** From the members to the deliveries: each line says what it takes away, why, and one whom it concerns. */
function describeNewsletter(newsletter: NewsletterReport, { endpoints }: Endpoints, colors: Colors): string[] {
  const { members, view, examples } = newsletter;
  const { email_id, counts, excluded_by_reason, failed_by_reason } = view;
  const { recipients, uncertain, submitted, delivered, bounced } = counts;
  const line = (count: number | string, text: string) => `  ${String(count).padStart(5)}  ${text}`;
  const without = Object.entries({ ...excluded_by_reason, ...failed_by_reason }).flatMap(([reason, count]) => {
    const who = examples.find((one) => one.reason === reason)?.member_id;
    const why = REASONS[reason] === undefined ? [] : [line('', colors.dim(`→ ${REASONS[reason]}`))];
    return [line(`-${count}`, `${reason}${who === undefined ? '' : `, such as ${who}`}`), ...why];
  });
  const early = members - recipients;
  return [
    colors.bold(`What became of the newsletter to ${members} members`),
    ...(early > 0 ? [line(`-${early}`, 'had unsubscribed before: no recipients')] : []),
    ...without,
    ...(uncertain > 0 ? [line(`-${uncertain}`, 'uncertain: nobody knows whether SES took them')] : []),
    line(submitted, `mails that SES took: ${delivered} delivered, ${bounced} bounced`),
    '',
    colors.bold('Where to look at the newsletter'),
    `  npm run ops -- emails status ${email_id} --local`,
    `  npm run ops -- emails recipients ${email_id} --state excluded --local`,
    `  its mails  ${endpoints.ses}/_bulk`,
    '',
  ];
}

/** Outcomes of a notification, in the demo's words. */
const FINDINGS = ['delivered', 'delivered later', 'waiting', 'permanent error', 'dead letter'] as const;
export type Finding = (typeof FINDINGS)[number];

export interface DemoReport {
  readonly counts: Readonly<Record<Channel, Readonly<Record<Finding, number>>>>;
  /** One notification per finding that occurred. */
  readonly examples: Partial<Readonly<Record<Finding, NotificationRow>>>;
  readonly deadLetters: Readonly<Record<Channel, number>>;
}

export async function readReport(endpoints: Endpoints): Promise<DemoReport> {
  const clients = awsClients(endpoints.endpoints.dynamodb, endpoints.endpoints.sqs);
  try {
    return reportOf(await readRows(clients, endpoints), await countDeadLetters(clients, endpoints));
  } finally {
    clients.destroy();
  }
}

function reportOf(rows: readonly NotificationRow[], deadLetters: DemoReport['deadLetters']): DemoReport {
  const none = () => Object.fromEntries(FINDINGS.map((finding) => [finding, 0])) as Record<Finding, number>;
  const counts = perChannel(none);
  const examples: Partial<Record<Finding, NotificationRow>> = {};
  for (const row of rows) {
    const finding = findingOf(row);
    counts[row.channel][finding] += 1;
    examples[finding] ??= row;
  }
  return { counts, examples, deadLetters };
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

async function readRows({ dynamodb }: AwsClients, { tables }: Endpoints): Promise<NotificationRow[]> {
  const rows: NotificationRow[] = [];
  for await (const { Items = [] } of paginateScan({ client: dynamodb }, { TableName: tables.notification_log })) {
    // A row that the indexer has not seen yet has no `channel`. After the demo's sweep there is none.
    rows.push(...Items.map((item) => unmarshall(item) as NotificationRow).filter((row) => row.channel));
  }
  return rows;
}

async function countDeadLetters({ sqs }: AwsClients, { queues }: Endpoints): Promise<Record<Channel, number>> {
  const counts = perChannel(() => 0);
  for (const channel of CHANNELS) counts[channel] = (await queueCounts(sqs, queues[channel].dead_letter)).visible;
  return counts;
}

function perChannel<T>(value: () => T): Record<Channel, T> {
  return Object.fromEntries(CHANNELS.map((channel) => [channel, value()])) as Record<Channel, T>;
}
