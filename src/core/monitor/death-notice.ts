import { ERROR_TYPES, policyOf } from '../model/error-types.ts';
import type { NotificationRow } from '../model/notification.ts';
import { clip } from '../model/text.ts';
import { describeFaults } from '../model/work/set-aside.ts';
import { workFaults } from '../model/work/work-rules.ts';

/** A message to the operators. It has ids and reasons, never an address or a text of a provider. */
export interface Notice {
  /** At most 100 characters of ASCII: the limit of SNS. */
  readonly subject: string;
  readonly text: string;
}

/** Notifications that died of the same cause: a person has to look into them once. */
export interface Cause {
  /** Channel, integration and reason; or the rules that a malformed row breaks. */
  readonly what: string;
  readonly remedy: string;
  /** The command that lists them. */
  readonly command: string;
  readonly log_ids: readonly string[];
}

/** Causes that are described in full, the most frequent first. A person reads no more at once. */
const MAX_CAUSES = 20;
const MAX_EXAMPLES = 3;
const ID_LENGTH = 80;
const FAULT_LENGTH = 400;
const OPS = 'npm run ops --';
const MALFORMED = {
  remedy: 'Another program put it among the dead ones. Its writer has to correct it, or to remove it.',
  command: `${OPS} list --status dead`,
};

/**
 * Groups the notifications that are still dead. Those that were redriven or changed since need no operator. Whoever may
 * write to the table may have put a row among the dead ones: it is judged alone, and keeps no other from being reported.
 */
export function causesOf(rows: readonly NotificationRow[]): Cause[] {
  const dead = rows.filter(isDead).map((row) => ({ log_id: row.log_id, ...causeOf(row) }));
  return [...Map.groupBy(dead, ({ what }) => what).values()]
    .flatMap((group) => {
      const [first] = group;
      if (first === undefined) return [];
      const { what, remedy, command } = first;
      return [{ what, remedy, command, log_ids: group.map(({ log_id }) => log_id) }];
    })
    .sort((a, b) => b.log_ids.length - a.log_ids.length);
}

function isDead({ failure_reason, work_queue }: NotificationRow): boolean {
  return failure_reason !== undefined && typeof work_queue === 'string' && work_queue.startsWith('dead#');
}

function causeOf(row: NotificationRow): Omit<Cause, 'log_ids'> {
  const { channel, integration_config_id, failure_reason = 'UNKNOWN' } = row;
  const faults = workFaults({ ...row });
  if (faults.length > 0) return { ...MALFORMED, what: `malformed row: ${clip(describeFaults(faults), FAULT_LENGTH)}` };
  const error_type = ERROR_TYPES.find((type) => type === row.error_type) ?? failure_reason;
  const last = error_type === failure_reason ? '' : `, at last ${error_type}`;
  return {
    what: `${channel}, integration ${clip(integration_config_id ?? '-', ID_LENGTH)}: ${failure_reason}${last}`,
    remedy: policyOf(failure_reason).remedy,
    command: `${OPS} list --status dead --channel ${channel} --error-type ${error_type}`,
  };
}

export function deathNotice(
  causes: readonly Cause[],
  { stack, from, until }: { readonly stack: string; readonly from: string | undefined; readonly until: string },
): Notice {
  const total = countOf(causes);
  const rest = causes.slice(MAX_CAUSES);
  const since = from === undefined ? 'before' : `from ${from} to`;
  const blocks = [
    `${notifications(total)} given up ${since} ${until}, and waiting for an operator.`,
    ...causes.slice(0, MAX_CAUSES).map(describe),
    ...(rest.length > 0
      ? [`${rest.length} more causes, of ${notifications(countOf(rest))}: ${OPS} list --status dead`]
      : []),
    `One of them with all its attempts: ${OPS} show LOG_ID`,
    `For the commands: export NOTIFICATION_RETRY_STACK=${stack}`,
    'What to do: docs/runbook.md#dead-letters-redrive',
  ];
  return { subject: clip(`${stack}: ${notifications(total)} given up`, 100), text: `${blocks.join('\n\n')}\n` };
}

function describe({ what, remedy, command, log_ids }: Cause): string {
  const examples = log_ids.slice(0, MAX_EXAMPLES).map((log_id) => clip(log_id, ID_LENGTH));
  return [
    `${log_ids.length} × ${what}`,
    `  ${remedy}`,
    `  ${log_ids.length > examples.length ? 'Such as ' : ''}${examples.join(', ')}`,
    `  ${command}`,
  ].join('\n');
}

function countOf(causes: readonly Cause[]): number {
  return causes.reduce((sum, { log_ids }) => sum + log_ids.length, 0);
}

function notifications(count: number): string {
  return count === 1 ? '1 notification' : `${count} notifications`;
}
