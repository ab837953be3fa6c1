import { createHash } from 'node:crypto';
import type { Channel } from '../core/model/channels.ts';
import { ownFaultIn, remedyOf } from '../core/model/error-types.ts';
import type { NotificationRow } from '../core/model/notification.ts';
import { failedAt } from '../core/model/row-state.ts';
import { withoutAddresses } from '../core/model/text.ts';
import { isListedDead, type PageCursor, workPartitions } from '../core/model/work-index.ts';
import { workFaults } from '../core/model/work-rules.ts';
import { integrationOf, lastErrorOf, NONE } from '../core/operator/search-filter.ts';
import type { WorkEntry } from '../core/operator/views/pipeline-status.ts';
import { shellCommand } from './contract/choices.ts';
import type { ShellCommand } from './contract/fields.ts';
import type { DeadLetterGroup, DeadLetters } from './contract/overview.ts';
import type { OperatorDeps } from './deps.ts';

/** Rows that one answer reads: about 2,000 read units, and less than a second. */
const MOST_ROWS = 2_000;

/** Dead notifications by cause: one repair, one action. */
export async function deadGroups(request: Omit<DeadRequest, 'most'>, deps: OperatorDeps): Promise<DeadLetters> {
  const { rows, total, complete } = await readDead({ ...request, most: MOST_ROWS }, deps);
  return { groups: groupDead(rows).map((group) => viewOf(group, request.tenant, deps)), total, complete };
}

function viewOf(group: DeadGroup, tenant: string | undefined, deps: OperatorDeps): DeadLetterGroup {
  const { local } = deps;
  const { channel, failure_reason, error_type, integration, sample } = group;
  const key = JSON.stringify([channel, failure_reason, error_type, integration, tenant]);
  const last_error = error_type ?? NONE;
  const chosen = [
    ...['--channel', channel, '--failure-reason', failure_reason],
    ...['--last-error', last_error, '--integration', integration ?? NONE],
    ...(tenant === undefined ? [] : ['--tenant', tenant]),
  ];
  return {
    group_id: createHash('sha256').update(key).digest('base64url').slice(0, 16),
    ...group,
    repair: credentialRepair(group, deps),
    filter: {
      channel,
      failure_reason,
      last_error,
      integration: integration ?? NONE,
      ...(tenant !== undefined && { tenant }),
    },
    commands: [
      { label: 'See why', command: shellCommand('show', local, [], sample.slice(0, 1)) },
      { label: 'Preview', command: shellCommand('replay', local, [...chosen, '--dry-run']) },
      { label: 'Redrive', command: shellCommand('replay', local, chosen) },
      { label: 'Redrive the whole queue', command: shellCommand('dlq redrive', local, ['--channel', channel]) },
    ],
  };
}

const REFUSED: ReadonlySet<string> = new Set(['AUTH_FAILED', 'AUTH_TEMPORARY', 'PERMISSION_DENIED']);
/** Stacks are named by their stage, unless a team has put the construct into one of its own. */
const OWN_STACK = /^notification-retry-(.+)$/;

/** How the credential of a group's integration is replaced. Null when the cause is not its credential. */
function credentialRepair(
  { channel, failure_reason, error_type, integration }: DeadGroup,
  { deployment: { secrets_file }, stage }: Pick<OperatorDeps, 'deployment' | 'stage'>,
): ShellCommand | null {
  // Ids come from other systems: one that a shell would read otherwise is left to the runbook.
  if (integration === null || !REFUSED.has(error_type ?? failure_reason) || !/^[\w./-]+$/.test(integration))
    return null;
  if (secrets_file !== undefined) {
    return {
      label: `Put the right credential at integrations → ${integration} in this file. The local providers take every token but the revoked one.`,
      command: `\${EDITOR:-vi} '${secrets_file}'`,
    };
  }
  const name = `notification-retry/${OWN_STACK.exec(stage)?.[1] ?? 'STAGE'}/integrations/${channel}/${integration}`;
  return {
    label: 'Store the right credential, and redrive five minutes later, when every function has it',
    command: `aws secretsmanager put-secret-value --secret-id ${name} --secret-string file://credential.json`,
  };
}

interface DeadRows {
  /** The newest ones. */
  readonly rows: readonly NotificationRow[];
  /** Dead notifications in the index that match, as far as it was read. */
  readonly total: number;
  /** Whether rows and total are all there are. */
  readonly complete: boolean;
}

interface DeadRequest {
  readonly channel?: Channel | undefined;
  readonly tenant?: string | undefined;
  /** Most rows that are read: each costs half a read unit and about 50 µs. */
  readonly most: number;
}

/** Partitions hold notifications in even numbers; how many times its share of the newest each may hold. */
const SLACK = 2;
const LEAST_PAGE = 25;
/** Pages per partition, if few of its entries match: a flood of others does not make a request read on and on. */
const MOST_PAGES = 5;

/** The newest dead notifications by the index, and their rows. Each partition is read from its newest end. */
export async function readDead(
  request: DeadRequest,
  { entries: index, rows }: Pick<OperatorDeps, 'entries' | 'rows'>,
): Promise<DeadRows> {
  const partitions = workPartitions('dead', await index.shards());
  const share = Math.max(LEAST_PAGE, Math.ceil((SLACK * request.most) / partitions.length));
  const read = await Promise.all(
    partitions.map(async (partition) => {
      const found: WorkEntry[] = [];
      let after: PageCursor | undefined;
      let pages = 0;
      do {
        const page = await index.page(partition, { limit: share, newest: true, ...(after && { after }) });
        found.push(...page.entries.filter((entry) => isWanted(entry, request)));
        after = page.next;
        pages += 1;
      } while (after !== undefined && found.length < share && pages < MOST_PAGES);
      return { found, ended: after === undefined };
    }),
  );
  const found = read.flatMap((one) => one.found).sort((a, b) => (a.work_at < b.work_at ? 1 : -1));
  const newest = await Promise.all(found.slice(0, request.most).map(({ log_id }) => rows.read(log_id)));
  const dead = newest.flatMap((row) => (row !== undefined && isListedDead(row) ? [row] : []));
  const complete = found.length <= request.most && read.every(({ ended }) => ended);
  return { rows: dead, total: found.length, complete };
}

function isWanted({ channel, tenant_id }: WorkEntry, wanted: DeadRequest): boolean {
  return (
    (wanted.channel === undefined || wanted.channel === channel) &&
    (wanted.tenant === undefined || wanted.tenant === tenant_id)
  );
}

/** Dead notifications that one repair brings back: same channel, integration, reason and last error. */
export type DeadGroup = Omit<DeadLetterGroup, 'group_id' | 'repair' | 'filter' | 'commands'>;

const SAMPLE = 5;

interface Member {
  readonly row: NotificationRow;
  readonly at: string;
}

/**
 * The largest group first. A malformed row belongs to no group: no repair brings it back, and it must not keep the others
 * from being shown. Lists show it as set aside.
 */
export function groupDead(rows: readonly NotificationRow[]): DeadGroup[] {
  const members = rows.flatMap((row): Member[] => {
    if (row.failure_reason === undefined || workFaults(row).length > 0) return [];
    return [{ row, at: failedAt(row) ?? row.work_at ?? '' }];
  });
  return [...Map.groupBy(members, ({ row }) => groupKey(row)).values()]
    .flatMap((group) => groupOf(group) ?? [])
    .sort((a, b) => b.count - a.count || (a.newest_at < b.newest_at ? 1 : -1));
}

/** The same for every member of a group, and for no other notification: what the group's filter asks for. */
function groupKey(row: NotificationRow): string {
  const { channel, failure_reason } = row;
  const foreign = { ...row };
  return JSON.stringify([channel, integrationOf(foreign) ?? null, failure_reason, lastErrorOf(foreign) ?? null]);
}

function groupOf(members: readonly Member[]): DeadGroup | undefined {
  const newestFirst = [...members].sort((a, b) => (a.at < b.at ? 1 : -1));
  const [newest] = newestFirst;
  const failure_reason = newest?.row.failure_reason;
  if (newest === undefined || failure_reason === undefined) return undefined;
  const { channel, error_message, response_code } = newest.row;
  const error_type = lastErrorOf({ ...newest.row });
  // A group may have several of our own refusals: the repair of one would be no other's.
  const isAlike = new Set(members.map(({ row }) => ownFaultIn(row.error_message))).size === 1;
  return {
    channel,
    failure_reason,
    error_type: error_type ?? null,
    integration: integrationOf({ ...newest.row }) ?? null,
    count: members.length,
    tenants: new Set(members.map(({ row }) => row.tenant_id)).size,
    oldest_at: newestFirst.at(-1)?.at ?? newest.at,
    newest_at: newest.at,
    error_message: error_message ? withoutAddresses(error_message) : null,
    response_code: response_code ?? null,
    sample: newestFirst.slice(0, SAMPLE).map(({ row }) => row.log_id),
    remedy: remedyOf(failure_reason, { error_type, ...(isAlike && { error_message }) }, channel),
  };
}
