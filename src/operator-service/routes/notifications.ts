import * as v from 'valibot';
import { readRecords } from '../../adapters/dynamodb/operator/operator-records.ts';
import { recipientHash } from '../../adapters/recipient/recipient-hash.ts';
import type { NotificationRow } from '../../core/model/notification.ts';
import { Problem } from '../../core/model/problem.ts';
import { checkRetry, stateOf } from '../../core/model/row-state.ts';
import { withoutAddresses } from '../../core/model/text.ts';
import { heldBy } from '../../core/operator/views/held-attempt.ts';
import { remedyFor, viewOf } from '../../core/operator/views/notification-view.ts';
import {
  type Action,
  type ActionCheck,
  type NotificationDetail,
  notificationsQuery,
  recipientHashBody,
} from '../contract/notifications.ts';
import type { ShellCommand } from '../contract/page.ts';
import { shellCommand } from '../contract/shell-command.ts';
import type { ConsoleDeps } from '../deps.ts';
import { listNotifications } from '../list-notifications.ts';
import { type Checked, type RouteTable, route } from '../route.ts';

/** Notifications: lists, one with its attempts, and the hash by which lists find a recipient. */
export function notificationRoutes(deps: ConsoleDeps): RouteTable {
  return {
    'GET /api/notifications': route('GET /api/notifications', notificationsQuery, ({ input }) =>
      listNotifications(input, deps),
    ),
    'GET /api/notifications/{log_id}': route('GET /api/notifications/{log_id}', v.strictObject({}), (request) =>
      show(request, deps),
    ),
    'POST /api/recipient-hash': route('POST /api/recipient-hash', recipientHashBody, async ({ input }) => ({
      recipient_hash: recipientHash(await deps.deployment.recipientHashKey(), input.tenant, input.recipient),
    })),
  };
}

async function show({ path }: Checked<object>, deps: ConsoleDeps): Promise<NotificationDetail> {
  const row = await readRow(path['log_id'] ?? '', deps);
  const records = await readRecords(deps.dynamodb, deps.deployment.tables.notification_retry_log, row.log_id);
  return {
    notification: viewOf({ ...row }, deps.clock()),
    attempts: records.map((record) => {
      const held = heldBy(record);
      const { response_message } = record;
      return {
        ...record,
        ...(response_message !== undefined && { response_message: withoutAddresses(response_message) }),
        ...(held !== undefined && { held }),
      };
    }),
    remedy: remedyFor({ ...row }),
    actions: actionsFor(row, deps.clock()),
    commands: commandsFor(row, deps),
  };
}

/** @throws Problem not-found */
export async function readRow(log_id: string, { rows }: Pick<ConsoleDeps, 'rows'>): Promise<NotificationRow> {
  const row = log_id.isWellFormed() ? await rows.read(log_id) : undefined;
  if (row !== undefined) return row;
  throw new Problem('not-found', 'There is no notification with this log_id. Rows expire two years after creation.');
}

function actionsFor(row: NotificationRow, now: Date): Readonly<Record<Action, ActionCheck>> {
  const check = checkRetry(row, now);
  const state = stateOf(row, now);
  const isWaiting = state === 'due' || state === 'waiting' || state === 'abandoned' || state === 'dead';
  return {
    retry: 'refused' in check ? no(check.refused) : { possible: true },
    cancel: isWaiting ? { possible: true } : no(`there is nothing to cancel: it is ${state.replaceAll('_', ' ')}`),
    give_up: state === 'dead' ? { possible: true } : no('only a dead notification can be taken off the list'),
  };
}

function no(because: string): ActionCheck {
  return { possible: false, because };
}

function commandsFor(row: NotificationRow, { local, clock }: ConsoleDeps): ShellCommand[] {
  const { log_id, channel } = row;
  const isDead = stateOf(row, clock()) === 'dead';
  return [
    { label: 'Show', command: shellCommand('show', local, [log_id]) },
    { label: 'Retry', command: shellCommand('retry', local, [log_id]) },
    { label: 'Cancel', command: shellCommand('cancel', local, [log_id]) },
    ...(isDead ? [{ label: 'Give up', command: shellCommand('dlq drop', local, [log_id]) }] : []),
    ...(isDead
      ? [{ label: 'Redrive the channel', command: shellCommand('dlq redrive', local, ['--channel', channel]) }]
      : []),
  ];
}
