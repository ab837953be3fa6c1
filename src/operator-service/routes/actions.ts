import { createContentStore } from '../../adapters/dynamodb/delivery/content-store.ts';
import { ContentUnreadableError } from '../../core/delivery/send.ts';
import { Problem } from '../../core/model/problem.ts';
import { newRunId } from '../../core/model/queue-message.ts';
import { tally } from '../../core/operator/audit/audited.ts';
import { cancel } from '../../core/operator/cancel.ts';
import { giveUp } from '../../core/operator/give-up.ts';
import { retryNow } from '../../core/operator/retry-now.ts';
import { decide } from '../audited.ts';
import { type ActionAnswer, type ActionResult, actionBody, revealBody } from '../contract/notifications.ts';
import { shellCommand } from '../contract/shell-command.ts';
import type { ConsoleDeps } from '../deps.ts';
import { type Checked, type RouteTable, route } from '../route.ts';
import { readRow } from './notifications.ts';

type ActionInput = Omit<ActionAnswer, 'repeated' | 'results' | 'command'> & {
  readonly action: 'retry' | 'cancel' | 'give_up';
  readonly log_ids: readonly string[];
};

const COMMANDS = { retry: 'retry', cancel: 'cancel', give_up: 'dlq drop' } as const;

/** What operators do with notifications that they chose one by one. */
export function actionRoutes(deps: ConsoleDeps): RouteTable {
  return {
    'POST /api/actions': route('POST /api/actions', actionBody, (request) => act(request, deps)),
    'POST /api/notifications/{log_id}/reveal': route(
      'POST /api/notifications/{log_id}/reveal',
      revealBody,
      async (request) => {
        const row = await readRow(request.path['log_id'] ?? '', deps);
        const decision = { what: 'reveal', on: [row.log_id] };
        const { answer } = await decide(
          'POST /api/notifications/{log_id}/reveal',
          request,
          decision,
          deps,
          async () => ({
            answer: { recipient: await recipientOf(row, deps) },
            // The audit log must not hold it: a repetition is answered below.
            stored: { recipient: '' },
            result: { revealed: 1 },
          }),
        );
        return answer.recipient === '' ? { recipient: await recipientOf(row, deps) } : answer;
      },
    ),
  };
}

async function act(request: Checked<ActionInput>, deps: ConsoleDeps): Promise<ActionAnswer> {
  const { action, log_ids, dry_run, request_id } = request.input;
  const command = shellCommand(COMMANDS[action], deps.local, log_ids);
  const run = (on: ConsoleDeps) => perform(action, log_ids, on);
  if (dry_run) {
    return { request_id, dry_run, repeated: false, results: await run(withoutWrites(deps)), command };
  }
  const decision = { what: action, on: log_ids };
  const { answer, repeated } = await decide('POST /api/actions', request, decision, deps, async () => {
    const results = await run(deps);
    return { answer: results, result: tally(results) };
  });
  return { request_id, dry_run, repeated, results: answer, command };
}

function perform(
  action: ActionInput['action'],
  log_ids: readonly string[],
  deps: ConsoleDeps,
): Promise<ActionResult[]> {
  const { rows, lanes, clock, deployment } = deps;
  const run_id = newRunId('manual', deps.newId());
  if (action === 'cancel') return cancel(log_ids, run_id, { rows, records: deps.records, clock });
  if (action === 'give_up') return giveUp(log_ids, { rows, clock });
  return retryNow(log_ids, run_id, { rows, send: lanes.send, policy: deployment.retry_policy, clock }).then(
    ({ results }) => results,
  );
}

/** The same decisions on the same rows, but nothing is written or sent (docs/architecture.md, invariant 10). */
function withoutWrites(deps: ConsoleDeps): ConsoleDeps {
  return {
    ...deps,
    rows: { read: deps.rows.read, change: async () => true },
    lanes: { ...deps.lanes, send: async () => [] },
    records: { ...deps.records, putIfAbsent: async () => true },
  };
}

/** @throws Problem when it cannot be decrypted any more */
async function recipientOf(
  { tenant_id, log_id }: { readonly tenant_id: string; readonly log_id: string },
  { deployment, dynamodb }: ConsoleDeps,
): Promise<string> {
  const contents = createContentStore(dynamodb, deployment.tables.notification_content, deployment.sealer(dynamodb));
  try {
    return (await contents.read({ tenant_id, log_id })).recipient;
  } catch (error) {
    if (!(error instanceof ContentUnreadableError)) throw error;
    throw new Problem('conflict', `The recipient cannot be shown: ${error.message}`);
  }
}
