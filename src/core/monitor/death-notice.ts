import type { Channel } from '../model/channels.ts';
import { type ErrorType, policyOf } from '../model/error-types.ts';
import type { NotificationRow } from '../model/notification.ts';
import { clip } from '../model/text.ts';

/** A message to whoever operates the service; carries ids and reasons, never an address or a text of a provider. */
export interface Notice {
  /** At most 100 characters of ASCII, as SNS wants it. */
  readonly subject: string;
  readonly text: string;
}

/** Notifications that died of the same: a person looks into them once. */
export interface Cause {
  readonly channel: Channel;
  /** `-`: the rows name none. */
  readonly integration: string;
  readonly failure_reason: ErrorType;
  readonly error_type: ErrorType;
  readonly log_ids: readonly string[];
}

/** Causes told in full, the most frequent first; a person reads no more at once. */
const MAX_CAUSES = 20;
const MAX_EXAMPLES = 3;
const ID_LENGTH = 80;

/** Groups what is still dead; what was redriven or changed meanwhile needs nobody any more. */
export function causesOf(rows: readonly NotificationRow[]): Cause[] {
  const dead = rows.filter(isDead);
  const groups = Map.groupBy(dead, ({ channel, integration_config_id = '-', failure_reason, error_type }) =>
    JSON.stringify([channel, integration_config_id, failure_reason, error_type]),
  );
  return [...groups.values()]
    .flatMap((group) => {
      const [first] = group;
      if (first === undefined) return [];
      const { channel, integration_config_id: integration = '-', failure_reason, error_type = failure_reason } = first;
      return [{ channel, integration, failure_reason, error_type, log_ids: group.map(({ log_id }) => log_id) }];
    })
    .sort((a, b) => b.log_ids.length - a.log_ids.length);
}

function isDead(row: NotificationRow): row is NotificationRow & { failure_reason: ErrorType } {
  return row.failure_reason !== undefined && row.work_queue?.startsWith('dead#') === true;
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

const OPS = 'npm run ops --';

function describe({ channel, integration, failure_reason, error_type, log_ids }: Cause): string {
  const last = error_type === failure_reason ? '' : `, at last ${error_type}`;
  const examples = log_ids.slice(0, MAX_EXAMPLES).map((log_id) => clip(log_id, ID_LENGTH));
  return [
    `${log_ids.length} × ${channel}, integration ${clip(integration, ID_LENGTH)}: ${failure_reason}${last}`,
    `  ${policyOf(failure_reason).remedy}`,
    `  ${log_ids.length > examples.length ? 'Such as ' : ''}${examples.join(', ')}`,
    `  ${OPS} list --status dead --channel ${channel} --error-type ${error_type}`,
  ].join('\n');
}

function countOf(causes: readonly Cause[]): number {
  return causes.reduce((sum, { log_ids }) => sum + log_ids.length, 0);
}

function notifications(count: number): string {
  return count === 1 ? '1 notification' : `${count} notifications`;
}
