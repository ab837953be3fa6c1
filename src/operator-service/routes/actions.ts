import { act, revealRecipient, tryAction } from '../actions.ts';
import { decideOnce } from '../audit.ts';
import { actionBody, revealBody } from '../contract/notifications.ts';
import { shellCommand } from '../contract/shell-command.ts';
import type { OperatorDeps } from '../deps.ts';
import { requireNotification } from '../notifications.ts';
import { type RouteTable, route } from '../route.ts';

const COMMANDS = { retry: 'retry', cancel: 'cancel', give_up: 'dlq drop' } as const;

/** What operators do with notifications that they chose one by one. */
export function actionRoutes(deps: OperatorDeps): RouteTable {
  return {
    'POST /api/actions': route('POST /api/actions', actionBody, async (request) => {
      const { action, log_ids, dry_run, request_id } = request.input;
      const command = shellCommand(COMMANDS[action], deps.local, log_ids);
      if (dry_run) {
        const results = await tryAction({ action, log_ids }, deps);
        return { request_id, dry_run, repeated: false, results, command };
      }
      const decide = decideOnce('POST /api/actions', request, deps);
      const { results, repeated } = await act({ action, log_ids }, deps, decide);
      return { request_id, dry_run, repeated, results, command };
    }),
    'POST /api/notifications/{log_id}/reveal': route(
      'POST /api/notifications/{log_id}/reveal',
      revealBody,
      async (request) => {
        const row = await requireNotification(request.path['log_id'] ?? '', deps);
        const decide = decideOnce('POST /api/notifications/{log_id}/reveal', request, deps);
        return { recipient: await revealRecipient(row, deps, decide) };
      },
    ),
  };
}
