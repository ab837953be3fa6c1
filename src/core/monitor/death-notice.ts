import { PRIORITIES, type Priority } from '../model/channels.ts';
import { errorTypeIn, ownFaultIn, remedyOf } from '../model/error-types.ts';
import type { NotificationRow } from '../model/notification.ts';
import { describeFaults } from '../model/row-state.ts';
import { clip } from '../model/text.ts';
import { isListedDead } from '../model/work-index.ts';
import { workFaults } from '../model/work-rules.ts';

/** A message to the operators. It has ids and reasons, never an address or a text of a provider. */
export interface Notice {
  /** At most 100 characters of ASCII: the limit of SNS. */
  readonly subject: string;
  readonly text: string;
}

/** What died of a tenant with a priority: counted in the index, which has no causes, with some of the rows. */
export interface Deaths {
  readonly priority: Priority;
  readonly tenant_id: string;
  readonly count: number;
  /** How many rows were read. */
  readonly sampled: number;
  /** Those that are there still, as they are now: some may have been redriven since. */
  readonly rows: readonly NotificationRow[];
}

/** Notifications that died of the same cause: a person has to look into them once. */
export interface Cause {
  /** Channel, integration and reason; or the rules that a malformed row breaks. */
  readonly what: string;
  readonly remedy: string;
  readonly command: string;
  /** The highest among them. */
  readonly priority: Priority;
  readonly count: number;
  /** Not all rows were read. */
  readonly is_estimate: boolean;
  /** Of those that were read. */
  readonly log_ids: readonly string[];
}

/** Causes that are described in full, urgent ones first. A person reads no more at once. */
const MAX_CAUSES = 20;
const MAX_EXAMPLES = 3;
/** Tenants named per priority. */
const MAX_TENANTS = 5;
const ID_LENGTH = 80;
const FAULT_LENGTH = 400;
const MALFORMED = {
  remedy: 'Another program put it among the dead ones. Its writer has to correct it, or to remove it.',
  command: 'npm run ops -- list --status dead',
};

/**
 * Groups the notifications that are still dead. Those that were redriven or changed since need no operator. Whoever may
 * write to the table may have put a row among the dead ones: it is judged alone, and keeps no other from being reported.
 */
export function causesOf(died: readonly Deaths[]): Cause[] {
  const rows = died.flatMap(({ priority, count, sampled, rows: read }) => {
    const each = { priority, is_estimate: count > sampled, standsFor: count / sampled };
    return read.filter(isDead).map((row) => ({ cause: causeOf(row), log_id: row.log_id, ...each }));
  });
  return [...Map.groupBy(rows, ({ cause }) => cause.what).values()]
    .flatMap((group) => {
      const [first] = group;
      if (first === undefined) return [];
      return [
        {
          what: first.cause.what,
          remedy: first.cause.remedy,
          command: first.cause.command,
          priority: PRIORITIES.find((one) => group.some(({ priority }) => priority === one)) ?? first.priority,
          count: Math.round(group.reduce((sum, { standsFor }) => sum + standsFor, 0)),
          is_estimate: group.some(({ is_estimate }) => is_estimate),
          log_ids: group.map(({ log_id }) => log_id),
        },
      ];
    })
    .sort((a, b) => rank(a.priority) - rank(b.priority) || b.count - a.count);
}

const isDead = (row: NotificationRow): boolean => row.failure_reason !== undefined && isListedDead(row);

const rank = (priority: Priority): number => (priority === 'urgent' ? 0 : 1);

function causeOf(row: NotificationRow): Pick<Cause, 'what' | 'remedy' | 'command'> {
  const { channel, integration_config_id, failure_reason = 'UNKNOWN', error_message } = row;
  const faults = workFaults(row);
  if (faults.length > 0) return { ...MALFORMED, what: `malformed row: ${clip(describeFaults(faults), FAULT_LENGTH)}` };
  const error_type = errorTypeIn(row.error_type) ?? failure_reason;
  const last = error_type === failure_reason ? '' : `, at last ${error_type}`;
  // Of our own refusals each has its repair, so each is a cause of its own.
  const fault = ownFaultIn(error_message);
  const refused = fault === undefined ? '' : ` (${fault})`;
  return {
    what: `${channel}, integration ${clip(integration_config_id ?? '-', ID_LENGTH)}: ${failure_reason}${last}${refused}`,
    remedy: remedyOf(failure_reason, { error_type: errorTypeIn(row.error_type), error_message }, channel),
    command: `npm run ops -- list --status dead --channel ${channel} --error-type ${error_type}`,
  };
}

/** How many of them are dead still, by those whose rows were read. */
export function stillDead({ count, sampled, rows }: Deaths): number {
  return Math.round((count * rows.filter(isDead).length) / sampled);
}

interface NoticeContext {
  readonly stack: string;
  readonly from: string | undefined;
  readonly until: string;
  /** More died in that time than one run counts. */
  readonly more: boolean;
}

export function deathNotice(died: readonly Deaths[], { stack, from, until, more }: NoticeContext): Notice {
  const causes = causesOf(died);
  const total = sumOf(died);
  const urgent = sumOf(died.filter(({ priority }) => priority === 'urgent'));
  const rest = causes.slice(MAX_CAUSES);
  const since = from === undefined ? 'before' : `from ${from} to`;
  const blocks = [
    `${notifications(total)} given up ${since} ${until}, and waiting for an operator.${more ? ' More of this time are in the next notice.' : ''}`,
    tenants(died),
    ...causes.slice(0, MAX_CAUSES).map(describe),
    ...(rest.length > 0
      ? [
          `${rest.length} more causes, of ${notifications(rest.reduce((sum, { count }) => sum + count, 0))}: npm run ops -- list --status dead`,
        ]
      : []),
    `One of them with all its attempts: npm run ops -- show LOG_ID`,
    `For the commands: export NOTIFICATION_RETRY_STACK=${stack}`,
    'What to do: docs/runbook.md#dead-letters-redrive',
  ];
  const subject = `${stack}: ${notifications(total)} given up${urgent > 0 ? `, ${urgent} urgent` : ''}`;
  return { subject: clip(subject, 100), text: `${blocks.join('\n\n')}\n` };
}

/** One line per priority, so that a flood of one tenant hides nobody's urgent death. */
function tenants(died: readonly Deaths[]): string {
  const lines = PRIORITIES.flatMap((priority) => {
    const own = died.filter((one) => one.priority === priority);
    const byTenant = [...Map.groupBy(own, ({ tenant_id }) => tenant_id)]
      .map(([tenant_id, group]) => ({ tenant_id, count: sumOf(group) }))
      .filter(({ count }) => count > 0)
      .sort((a, b) => b.count - a.count);
    if (byTenant.length === 0) return [];
    const named = byTenant
      .slice(0, MAX_TENANTS)
      .map(({ tenant_id, count }) => `${clip(tenant_id, ID_LENGTH)} ${count}`);
    const others = byTenant.length - named.length;
    return [`${priority}: ${sumOf(own)} (${[...named, ...(others > 0 ? [`${others} more tenants`] : [])].join(', ')})`];
  });
  return lines.join('\n');
}

function describe({ what, remedy, command, count, is_estimate, log_ids }: Cause): string {
  const examples = log_ids.slice(0, MAX_EXAMPLES).map((log_id) => clip(log_id, ID_LENGTH));
  return [
    `${is_estimate ? 'about ' : ''}${count} × ${what}`,
    `  ${remedy}`,
    `  ${count > examples.length ? 'Such as ' : ''}${examples.join(', ')}`,
    `  ${command}`,
  ].join('\n');
}

const sumOf = (died: readonly Deaths[]): number => died.reduce((sum, deaths) => sum + stillDead(deaths), 0);

const notifications = (count: number): string => (count === 1 ? '1 notification' : `${count} notifications`);
