import { CHANNELS } from '../../core/model/channels.ts';
import { policyOf } from '../../core/model/error-types.ts';
import type { NotificationRow } from '../../core/model/notification.ts';
import type { Colors } from '../../terminal/colors.ts';
import type { Endpoints } from '../runtime/endpoints-file.ts';
import { type DemoReport, FINDINGS, type Finding } from './demo-report.ts';

/** The demo's summary: the outcomes of the samples, an example of each outcome, and where to look next. */
export function describeDemo(report: DemoReport, endpoints: Endpoints, colors: Colors): string {
  return [
    colors.bold('What became of them'),
    ...table(report),
    '',
    colors.bold('One of each'),
    ...FINDINGS.flatMap((finding) => example(finding, report.examples[finding], colors)),
    '',
    colors.bold('Where to look next'),
    ...next(report, endpoints),
    '',
  ].join('\n');
}

function table({ counts, deadLetters }: DemoReport): string[] {
  const heads = [...FINDINGS, 'in the DLQ'];
  const line = (name: string, cells: readonly (string | number)[]) =>
    `  ${name.padEnd(8)}${cells.map((cell, index) => String(cell).padStart((heads[index] ?? '').length + 3)).join('')}`;
  return [
    line('', heads),
    ...CHANNELS.map((channel) =>
      line(channel, [...FINDINGS.map((finding) => counts[channel][finding]), deadLetters[channel]]),
    ),
  ];
}

function example(finding: Finding, row: NotificationRow | undefined, colors: Colors): string[] {
  if (row === undefined) return [];
  const what = `  ${colors.cyan(finding.padEnd(15))}  ${row.log_id}  ${row.channel}, ${row.priority}: `;
  if (row.send_status === 'SUCCESS') return [`${what}SUCCESS at retry ${row.last_attempt}`];
  const reason = row.failure_reason ?? row.error_type;
  if (reason === undefined) return [`${what}${row.send_status}`];
  const why = row.error_message === undefined ? '' : `, ${row.error_message}`;
  const then = row.next_retry_at === undefined ? policyOf(reason).remedy : `Tried again at ${row.next_retry_at}.`;
  return [`${what}${reason}${why}`, `  ${' '.repeat(15)}  ${colors.dim(`→ ${then}`)}`];
}

function next({ deadLetters }: DemoReport, { endpoints, tables, logs, secrets_file }: Endpoints): string[] {
  const dead = CHANNELS.reduce((sum, channel) => sum + deadLetters[channel], 0);
  return [
    `  console         ${endpoints.console}`,
    `  e-mails         ${endpoints.ses}`,
    `  other channels  ${endpoints.simulator}/_received`,
    `  tables          ${tables.notification_log} and its retry log, at ${endpoints.dynamodb}`,
    `  functions' logs ${logs}`,
    `  another run     npm run batch:notification-retry -- --local --wait`,
    ...(dead === 0
      ? []
      : [
          `  ${dead} dead letters: npm run ops -- list --status dead --local, and show LOG_ID for one of them; remove the`,
          `                  cause (a revoked token is in ${secrets_file}), then send them again with`,
          '                  npm run ops -- dlq redrive --channel slack --local',
          '                  (on AWS also: SQS console, the dead-letter queue, "Start DLQ redrive")',
        ]),
  ];
}
