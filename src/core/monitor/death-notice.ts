import type { Channel } from '../model/channels.ts';
import { type ErrorType, policyOf } from '../model/error-types.ts';
import type { NotificationRow } from '../model/notification.ts';
import { clip } from '../model/text.ts';

/** A message to the operators. It has ids and reasons, never an address or a text of a provider. */
export interface Notice {
  /** At most 100 characters of ASCII: the limit of SNS. */
  readonly subject: string;
  readonly text: string;
}

/** Notifications that died of the same cause: a person has to look into them once. */
export interface Cause {
  readonly channel: Channel;
  /** `-` when the rows name no integration. */
  readonly integration: string;
  readonly failure_reason: ErrorType;
  readonly error_type: ErrorType;
  readonly log_ids: readonly string[];
}

/** Causes that are described in full, the most frequent first. A person reads no more at once. */
const MAX_CAUSES = 20;
const MAX_EXAMPLES = 3;
const ID_LENGTH = 80;

/** Groups the notifications that are still dead. Those that were redriven or changed since need no operator. */
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
