import { EXIT_FAILED, EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { printResult } from '../../../terminal/output.ts';
import { COLORS } from '../../../terminal/printable.ts';
import { withProgress } from '../../../terminal/progress.ts';
import type { FlushReport } from '../flush.ts';
import type { Listed } from '../spool-reader.ts';
import { findFile, onSpool, type SpoolSession, withLock } from './session.ts';

export const addSpoolFlush = onSpool({
  name: 'flush',
  says: 'hand over the notifications in the spool, the oldest first; for an hourly cron',
  sends: true,
  help: (command) => `
After 10 failed flushes (MAX_SPOOL_RETRIES) or 168 hours (SPOOL_RETENTION_HOURS) a file is given up: it moves to the
folder failed beside the spool. It warns of more than 70 files or 700 MB in the spool. The exit code is 1 if a file was
given up or could not be read, so that a cron reports it once.
It is 0 while the API does not answer.

Example:
  17 * * * * ${command} flush --json >/dev/null`,
  run: (session) => flush(session),
});

/**
 * Hands over the notifications in the spool.
 * @param files only these files
 * @returns the exit code
 */
async function flush(session: SpoolSession, files?: readonly string[]): Promise<number> {
  const { terminal, command } = session;
  // Reported at once, so that an operator who interrupts the command knows of it.
  const client = await session.client({
    onGivenUp({ file, because, notifications, reason }) {
      const count = notifications === undefined ? '' : `, ${notifications} notifications`;
      terminal.say(`${COLORS.yellow('given up')} ${file}: ${because}${count} (${reason})\n`);
    },
    onLargeSpool({ files, bytes }) {
      const size = `${files} files, ${Math.ceil(bytes / 1_000_000)} MB`;
      terminal.say(
        `${COLORS.yellow('large spool')} ${size}: more than a week of failures should leave; see \`${command} list\`\n`,
      );
    },
  });
  const report = await withProgress(session, (progress) =>
    client.flush({
      ...(files && { files }),
      onProgress: ({ done, total }) => progress.update({ verb: 'handled', done, total }),
    }),
  );
  const host = await session.apiHost();
  printResult(session, viewOf(report), () => describe(report, command, host));
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

function viewOf({ givenUp, leftBecause, ...report }: FlushReport) {
  return {
    ...report,
    left_because: leftBecause,
    given_up: givenUp.map(({ firstAttempt, ...given }) => ({ ...given, first_attempt: firstAttempt })),
  };
}

export const addSpoolResend = onSpool({
  name: 'resend',
  says: 'move given-up files back into the spool with a new budget, and hand them over',
  args: { '[FILE...]': 'names from `list`' },
  options: { '--all': 'every complete file of the folder failed' },
  sends: true,
  help: (command) => `
Remove the cause first: a notification that is refused again is given up again. The idempotency keys stay, so that a
notification that the API accepted in the last 72 hours is not sent twice. The API does not know older keys.

Example:
  ${command} resend 20261121T090000000Z-0a1b2c3d4e5f.spool`,
  async run(session, { all }, names) {
    const { spool, terminal } = session;
    if (names.length > 0 === (all === true)) throw new OperatorError('Choose the files: FILEs, or --all.', EXIT_USAGE);
    // Check the settings of the API before any file moves.
    await session.client({});
    const { files, faults } = await withLock(session, async () => {
      const found = all ? await spool.list('failed') : await Promise.all(names.map((name) => findFile(session, name)));
      return putAllBack(session, found);
    });
    if (files.length === 0) terminal.say('There is nothing to send again.\n');
    const code = files.length === 0 ? 0 : await flush(session, files);
    return faults > 0 ? EXIT_FAILED : code;
  },
});

/** @returns the names in the spool, and the number of files that could not be moved */
async function putAllBack(
  { spool, terminal }: SpoolSession,
  found: readonly Listed[],
): Promise<{ files: string[]; faults: number }> {
  const files: string[] = [];
  for (const { folder, file, ...rest } of found) {
    try {
      if (folder === 'failed' && rest.header === undefined) throw rest.fault;
      files.push(folder === 'failed' ? await spool.resend(file) : file);
    } catch (error) {
      terminal.say(`${file} was left as it is: ${(error as Error).message}\n`);
    }
  }
  return { files, faults: found.length - files.length };
}
