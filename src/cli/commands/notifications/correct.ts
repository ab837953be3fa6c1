import { readFile } from 'node:fs/promises';
import { type Corrected, correctNotification } from '../../../application/chosen/correct.ts';
import type { Taken } from '../../../core/operator/dead-letters/dead-letter.ts';
import { COLORS } from '../../../terminal/colors.ts';
import { EXIT_FAILED, EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { printResult } from '../../../terminal/output.ts';
import { table } from '../../../terminal/table.ts';
import { dropLettersNow, faultInOptions, onDeployment } from '../../session/session.ts';

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
    '--recipient <->': '"-": the new recipient is read from stdin, so that no history of a shell keeps it',
    '--subject <S>': 'the new subject',
    '--body <FILE>': 'the file with the new body, in the format that the notification has',
    '--integration <ID>': 'the integration_config_id to send by; its tenant must own it',
    '--dry-run': 'say what would change, and change nothing',
  },
  help: `
What is not given stays, and so does the time of what was never tried. Another life begins: a full budget, a window of
its own, and a fallback of its own; letters, events and successors of before do nothing any more. An address is shown
masked, a text by its length; with another recipient, addresses in what providers said are masked for good. The audit log
says who corrected which fields, with keyed hashes.

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
    const dropLetters = (taken: Taken) => dropLettersNow(taken, session);
    const done = await session
      .decide(correctNotification(log_id, { ...given, dry_run }, { ...session, dropLetters }))
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
