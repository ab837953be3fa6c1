import type { Command } from 'commander';
import { EXIT_FAILED } from '../../../terminal/errors.ts';
import { showProgress } from '../../../terminal/progress.ts';
import type { FlushReport } from '../flush.ts';
import { addApiOptions, onSpool, type SpoolContext, type SpoolSession } from './session.ts';
import { reportView } from './spool-view.ts';

export function addSpoolFlush(program: Command, context: SpoolContext): void {
  const command = addApiOptions(program.command('flush'), context)
    .description('hand over what is in the spool, the oldest first; for an hourly cron')
    .addHelpText(
      'after',
      `
After 10 flushes that failed (MAX_SPOOL_RETRIES) or 168 hours (SPOOL_RETENTION_HOURS) a file moves to the folder failed
beside the spool. It ends with 1 when that happened, or a file could not be read, so that a cron tells of it, once;
that the API is away is no failure of the command.

Example:
  17 * * * * ${context.command} flush --json >/dev/null`,
    );
  onSpool(command, context, (session) => flush(session));
}

/** Hands over what is in the spool, or these files of it. @returns the exit code */
export async function flush(session: SpoolSession, files?: readonly string[]): Promise<number> {
  const { json, terminal, command } = session;
  // Said at once: who interrupts the command has been told by then.
  const client = await session.client(({ file, because, notifications, reason }) => {
    const count = notifications === undefined ? '' : `, ${notifications} notifications`;
    terminal.say(`${terminal.colors.yellow('given up')} ${file}: ${because}${count} (${reason})\n`);
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
  terminal.print(json ? `${JSON.stringify(reportView(report))}\n` : describe(report, command));
  for (const { file, because } of report.skipped) terminal.say(`${file} was left as it is: ${because}\n`);
  return report.givenUp.length + report.skipped.length > 0 ? EXIT_FAILED : 0;
}

function describe({ accepted, refused, left, givenUp, skipped }: FlushReport, command: string): string {
  if (accepted + refused + left + givenUp.length + skipped.length === 0) return 'The spool is empty: nothing to do.\n';
  const up = givenUp.length > 0 ? `, ${givenUp.length} files given up: see \`${command} list\`` : '';
  return `${accepted} handed over, ${left} still in the spool, ${refused} refused${up}.\n`;
}
