import { readFile } from 'node:fs/promises';
import { type Corrected, correctNotification } from '../../../application/chosen/correct.ts';
import type { Taken } from '../../../core/operator/dead-letters/dead-letter.ts';
import { EXIT_FAILED, EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { printResult } from '../../../terminal/output.ts';
import { COLORS } from '../../../terminal/printable.ts';
import { table } from '../../../terminal/table.ts';
import { deleteLettersNow, faultInOptions, onDeployment } from '../../session/session.ts';

/** What the service names by its fields, by the options. */
const OPTIONS = {
  recipient: '--recipient',
  subject: '--subject',
  body: '--body',
  integration_config_id: '--integration',
  'fallback.channel': '--body',
} as const;

export const addCorrect = onDeployment({
  name: 'correct',
  says: 'correct recipient, subject, body or integration of a notification, and send it',
  args: { '<LOG_ID>': 'a notification that is dead, has stopped, or waits' },
  options: {
    '--recipient <->': '"-": read the new recipient from stdin, so that it is not in the shell history',
    '--subject <S>': 'the new subject',
    '--body <FILE>': 'a file with the new body, in the format of the notification',
    '--integration <ID>': 'the integration_config_id to send through; it must belong to the tenant',
    '--dry-run': 'show what would change; change nothing',
  },
  help: `
Options that you leave out stay as they are, and a notification that was never tried keeps its scheduled time. It starts
over with a full budget, a new window and a new fallback; its former dead letter, delivery events and successor have no
effect any more. Addresses are shown masked, texts by their length. With a new recipient, addresses in stored provider
answers are masked for good. The audit log records who corrected which fields, with keyed hashes of the values.

Examples:
  printf %s "$ADDRESS" | npm run ops -- correct NL103 --recipient - --dry-run
  npm run ops -- correct NL103 --integration slack-ops`,
  async run(session, { recipient, subject, body, integration, dryRun: dry_run = false }, [log_id = '']) {
    if (recipient !== undefined && recipient !== '-') {
      throw new OperatorError('--recipient takes "-" alone: the recipient is read from stdin.', EXIT_USAGE);
    }
    const given = {
      recipient: recipient && (await session.terminal.readInput()),
      subject,
      body: body === undefined ? undefined : await readBody(body),
      integration_config_id: integration,
    };
    if (Object.values(given).every((one) => one === undefined)) {
      throw new OperatorError(
        'Nothing to correct: give --recipient -, --subject, --body or --integration.',
        EXIT_USAGE,
      );
    }
    const deleteLetters = (taken: Taken) => deleteLettersNow(taken, session);
    const done = await session
      .decide(correctNotification(log_id, { ...given, dry_run }, { ...session, deleteLetters }))
      .catch((error: unknown) => faultInOptions(error, OPTIONS));
    printResult(session, { log_id, dry_run, ...done }, () => describe(log_id, done, dry_run));
    return done.result === 'queued' ? 0 : EXIT_FAILED;
  },
});

async function readBody(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new OperatorError(`--body: ${path} cannot be read: ${error instanceof Error ? error.message : error}`);
  }
}

function describe(log_id: string, { result, because, due, changes }: Corrected, dry_run: boolean): string {
  const rows = table(changes, [
    ['field', 'field'],
    ['from', 'from'],
    ['to', 'to'],
  ]);
  const word = result === 'queued' ? COLORS.green(dry_run ? 'would be queued' : 'queued') : COLORS.yellow(result);
  const when = due === undefined ? '' : ` for ${due}`;
  return `${rows}${log_id}  ${word}${when}${because === undefined ? '' : `: ${because}`}\n`;
}
