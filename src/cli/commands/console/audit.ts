import { InvalidArgumentError } from 'commander';
import { listAudit } from '../../../application/audit.ts';
import { AUDIT_PERIOD_MS, type AuditPlace, type AuditRecord } from '../../../core/operator/audit.ts';
import { value } from '../../../terminal/command.ts';
import { parseCount, parseId, parseMoment } from '../../../terminal/option-values.ts';
import { printList } from '../../../terminal/output.ts';
import { periodIn } from '../../session/filter-options.ts';
import { onDeployment } from '../../session/session.ts';

/** What operators did in the console and by commands. */
export const addAudit = onDeployment({
  name: 'audit',
  says: 'list what operators did in the console and by commands, newest first',
  options: {
    '--who <NAME>': 'only what this user did',
    '--what <ACTION>': value('only this action: retry, cancel, reveal, operation.start, key.create, …', parseAction),
    '--target <ID>': value('only what was done to this log_id, operation_id, key_id or email_id', parseId),
    '--from <TIME>': value('at this time or later: a time, or how long ago; by default 7d', parseMoment),
    '--to <TIME>': value('at this time or earlier', parseMoment),
    '--limit <N>': value('entries', parseCount, 100),
  },
  help: `
An entry without a result: the action is still running, or its process crashed. Every command that changes something is
listed; what was done with the AWS CLI or in the AWS console is in CloudTrail.

Examples:
  npm run ops -- audit --from 30d --who someone
  npm run ops -- audit --target NL103 --json`,
  async run(session, options) {
    const { from, to } = periodIn(options, session.clock(), AUDIT_PERIOD_MS);
    const entries: AuditRecord[] = [];
    let after: AuditPlace | undefined;
    // A page of the log may end early.
    do {
      const page = await listAudit({ ...options, from, to, limit: options.limit - entries.length, after }, session);
      entries.push(...page.records);
      after = page.next;
    } while (after !== undefined && entries.length < options.limit);
    const none = `Nothing was done from ${from} to ${to}.`;
    printList(session, { entries }, entries, none, [
      'at',
      'who',
      ['role', 'role', 'wide'],
      'what',
      ['on', ({ on: [first], targets }) => (targets > 1 ? `${first} and ${targets - 1} more` : first)],
      ['result', ({ result }) => resultOf(result)],
    ]);
  },
});

/** As decisions name themselves (`what`): alone, or after the subject. */
const ACTION =
  /^((retry|redrive|correct|cancel|give_up|reveal|reconcile|forget|verify|restore)|(operation|verification|dlq|email|key|member|newsletter|restore|row|senders?|outcomes)\.[a-z_]+(\.[a-z_]+)?)$/;

export function parseAction(text: string): string {
  if (ACTION.test(text)) return text;
  throw new InvalidArgumentError(
    'It must be retry, redrive, cancel, give_up, reveal, reconcile, or what was done with its subject: operation.start, ' +
      'dlq.drop, email.cancel, key.create, member.import, …',
  );
}

function resultOf(result: AuditRecord['result']): string {
  if (result === undefined) return 'begun';
  const all = Object.entries(result).sort();
  const some = all.filter(([, number]) => number !== 0);
  return (some.length > 0 ? some : all).map(([name, number]) => `${number} ${name}`).join(', ') || 'done';
}
