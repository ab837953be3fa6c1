import type { Command } from 'commander';
import { EXIT_FAILED } from '../../../terminal/errors.ts';
import { printResult } from '../../../terminal/output.ts';
import { showProgress } from '../../../terminal/progress.ts';
import type { FlushReport } from '../flush.ts';
import { addApiOptions, onSpool, type SpoolContext, type SpoolSession } from './session.ts';
import { reportView } from './spool-view.ts';

export function addSpoolFlush(program: Command, context: SpoolContext): void {
  const command = addApiOptions(program.command('flush'), context)
    .description('hand over the notifications in the spool, the oldest first; for an hourly cron')
    .addHelpText(
      'after',
      `
After 10 failed flushes (MAX_SPOOL_RETRIES; at most one per hour counts) or 168 hours (SPOOL_RETENTION_HOURS) a file is
given up: it moves to the folder failed beside the spool. More than 70 files or 700 MB in the spool are warned of. The
exit code is 1 if a file was given up or could not be read, so that a cron reports it once.
An API that does not answer is no failure of the command.

Example:
  17 * * * * ${context.command} flush --json >/dev/null`,
    );
  onSpool(command, context, (session) => flush(session));
}

/**
 * Hands over the notifications in the spool.
 * @param files only these files
 * @returns the exit code
 */
export async function flush(session: SpoolSession, files?: readonly string[]): Promise<number> {
  const { terminal, command } = session;
  // Reported at once, so that an operator who interrupts the command knows of it.
  const { yellow } = terminal.colors;
  const client = await session.client({
    onGivenUp({ file, because, notifications, reason }) {
      const count = notifications === undefined ? '' : `, ${notifications} notifications`;
      terminal.say(`${yellow('given up')} ${file}: ${because}${count} (${reason})\n`);
    },
    onLargeSpool({ files, bytes }) {
      const size = `${files} files, ${Math.ceil(bytes / 1_000_000)} MB`;
      terminal.say(
        `${yellow('large spool')} ${size}: more than a week of failures should leave; see \`${command} list\`\n`,
      );
    },
  });
  const progress = showProgress(session);
  let report: FlushReport;
  try {
    report = await client.flush({
      ...(files && { files }),
      onProgress: ({ done, total }) => progress.update({ verb: 'handled', done, total }),
    });
  } finally {
    progress.end();
  }
  const host = await session.apiHost();
  printResult(session, reportView(report), () => describe(report, command, host));
  for (const { file, because } of report.skipped) terminal.say(`${file} was left as it is: ${because}\n`);
  return report.givenUp.length + report.skipped.length > 0 ? EXIT_FAILED : 0;
}

function describe(
  { accepted, refused, left, leftBecause, givenUp, skipped }: FlushReport,
  command: string,
  host: string | undefined,
): string {
  if (accepted + refused + left + givenUp.length + skipped.length === 0) return 'The spool is empty: nothing to do.\n';
  const files = givenUp.length > 0 ? `, ${givenUp.length} files given up: see \`${command} list\`` : '';
  const reasons = Object.entries(leftBecause).map(([reason, count]) => {
    const from = host !== undefined && reason.startsWith('no answer') ? ` from ${host}` : '';
    return `${count} ${reason}${from}`;
  });
  const why = left > 0 && reasons.length > 0 ? ` (${reasons.join(', ')})` : '';
  return `${accepted} handed over, ${left} still in the spool${why}, ${refused} refused${files}.\n`;
}
