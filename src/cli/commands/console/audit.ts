import { type Command, InvalidArgumentError } from 'commander';
import { AUDIT_PERIOD_MS, type AuditFilter, type AuditPlace, type AuditRecord } from '../../../core/operator/audit.ts';
import { listAudit } from '../../../operator-service/audit.ts';
import { parseCount, parseId, parseMoment } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { table } from '../../../terminal/table.ts';
import { periodOf } from '../../session/filter-options.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';

interface AuditOptions extends AuditFilter {
  readonly from?: string;
  readonly to?: string;
  readonly limit: number;
}

/** `ops audit`: what operators did in the console and by commands. */
export function addAudit(program: Command, context: CliContext): void {
  const command = program
    .command('audit')
    .description('list what operators did in the console and by commands, newest first')
    .option('--who <NAME>', 'only what this user did')
    .option('--what <ACTION>', 'only this action: retry, cancel, reveal, operation.start, key.create, …', parseAction)
    .option('--target <ID>', 'only what was done to this log_id, operation_id, key_id or email_id', parseId)
    .option('--from <TIME>', 'at this time or later: a time, or how long ago; by default 7d', parseMoment)
    .option('--to <TIME>', 'at this time or earlier', parseMoment)
    .option('--limit <N>', 'entries', parseCount, 100)
    .addHelpText(
      'after',
      `
An entry without a result is of an action that runs, or whose process died. Every command that changes something is here;
what is done by the AWS CLI or in the AWS console is in CloudTrail.

Examples:
  npm run ops -- audit --from 30d --who someone
  npm run ops -- audit --target NL103 --json`,
    );
  onDeployment<AuditOptions>(command, context, showAudit);
}

/** As decisions name themselves (`what`): alone, or after the subject. */
const ACTION =
  /^((retry|redrive|cancel|give_up|reveal|reconcile|forget|verify)|(operation|verification|dlq|email|key|member|newsletter|senders?|outcomes)\.[a-z_]+(\.[a-z_]+)?)$/;

export function parseAction(text: string): string {
  if (ACTION.test(text)) return text;
  throw new InvalidArgumentError(
    'It must be retry, redrive, cancel, give_up, reveal, reconcile, or what was done with its subject: operation.start, ' +
      'dlq.drop, email.cancel, key.create, member.import, …',
  );
}

async function showAudit(session: Session, options: AuditOptions): Promise<number> {
  const period = periodOf(options, session.clock(), AUDIT_PERIOD_MS);
  const entries: AuditRecord[] = [];
  let after: AuditPlace | undefined;
  // A page of the log may end early.
  do {
    const page = await listAudit({ ...options, ...period, limit: options.limit - entries.length, after }, session);
    entries.push(...page.records);
    after = page.next;
  } while (after !== undefined && entries.length < options.limit);
  const { from, to } = period;
  if (!session.json && entries.length === 0) session.terminal.say(`Nothing was done from ${from} to ${to}.\n`);
  else printResult(session, { entries }, () => tableOf(entries, session));
  return 0;
}

function tableOf(entries: readonly AuditRecord[], { terminal }: Session): string {
  return table<AuditRecord>(
    [
      { title: 'at', of: ({ at }) => at },
      { title: 'who', of: ({ who }) => who },
      { title: 'role', of: ({ role }) => role },
      { title: 'what', of: ({ what }) => what },
      { title: 'on', of: ({ on: [first], targets }) => (targets > 1 ? `${first} and ${targets - 1} more` : first) },
      { title: 'result', of: ({ result }) => resultOf(result) },
    ],
    entries,
    terminal.colors,
  );
}

function resultOf(result: AuditRecord['result']): string {
  if (result === undefined) return 'begun';
  return (
    Object.entries(result)
      .sort()
      .map(([name, number]) => `${number} ${name}`)
      .join(', ') || 'done'
  );
}
