import { type Resent, resendOutcomes } from '../../../application/scans/resend-outcomes.ts';
import { required, value } from '../../../terminal/command.ts';
import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseCount, parseMoment } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { withProgress } from '../../../terminal/progress.ts';
import { onDeployment } from '../../session/session.ts';

/** Read units per second: a table of a million rows of 700 bytes takes three minutes. */
const RATE = 500;

export const addOutcomesResend = onDeployment({
  name: 'resend',
  says: 'send producers the outcomes of a period again, from the tables',
  options: {
    '--from <TIME>': required(
      value('what happened at this time or later: a time, or how long ago (6h, 2d)', parseMoment),
    ),
    '--to <TIME>': required(value('what happened before this time', parseMoment)),
    '--rate <N>': value('read units per second, on average', parseCount, RATE),
    '--dry-run': 'only count them',
  },
  help: `
For outcomes that were lost: streams keep events for a day. Reads whole tables and sends the present state; receivers
recognize a repeat by its event_id. Run it again after an interruption.

Examples:
  npm run ops -- outcomes resend --from 3d --to 1d --dry-run
  npm run ops -- outcomes resend --from 2026-11-20T00:00:00Z --to 2026-11-21T00:00:00Z`,
  async run(session, { from, to, rate, dryRun: dry_run = false }) {
    if (from >= to) throw new OperatorError('--from must be before --to.', EXIT_USAGE);
    const resent = await withProgress(session, (progress) => {
      progress.step('Reading the tables');
      const onProgress = ({ scanned, told }: Resent) =>
        progress.update({ verb: 'read', done: scanned, summary: `${told} told` });
      return session.decide(resendOutcomes({ from, to, rate, dry_run }, { ...session, onProgress }));
    });
    printResult(session, { dry_run, ...resent }, () => describe(resent, dry_run));
  },
});

function describe({ scanned, told, by_kind }: Resent, dryRun: boolean): string {
  const kinds = Object.entries(by_kind).map(([kind, count]) => `  ${kind}: ${count}\n`);
  return `${scanned} items read, ${told} outcomes ${dryRun ? 'would be told' : 'told'}.\n${kinds.join('')}`;
}
