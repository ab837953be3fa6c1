import { CHANNELS, PRIORITIES } from '../../core/model/channels.ts';
import type { Colors } from '../../terminal/colors.ts';
import type { RetryJobResult } from './run-retry-job.ts';

/** The result of the job for people: what was due by channel and priority, and the outcomes. */
export function describeRetryJob(result: RetryJobResult, colors: Colors): string {
  const lines = [
    `${colors.bold('BATCH-952')} ${colors.dim(result.run_id)}${result.dry_run ? colors.yellow('  dry run: nothing was written or sent') : ''}`,
    '',
    row(
      'channel',
      CHANNELS.map((channel) => [channel, result.by_channel[channel]]),
    ),
    row(
      'priority',
      PRIORITIES.map((priority) => [priority, result.by_priority[priority]]),
    ),
    '',
    row('', [
      ['due', result.due],
      ['dispatched', result.dispatched],
      ['skipped', result.skipped],
      ['queued ahead', result.ahead],
    ]),
  ];
  if (result.outcomes) lines.push(row('outcome', Object.entries(result.outcomes), colors));
  return `${lines.join('\n')}\n`;
}

function row(title: string, cells: readonly (readonly [string, number])[], colors?: Colors): string {
  const text = cells.map(([name, count]) => `${paint(name, colors)} ${String(count).padStart(5)}`).join('   ');
  return `  ${title.padEnd(9)} ${text}`;
}

function paint(name: string, colors: Colors | undefined): string {
  if (colors === undefined) return name;
  if (name === 'SUCCESS') return colors.green(name);
  return name === 'RETRY' ? colors.yellow(name) : colors.red(name);
}
