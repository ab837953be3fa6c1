import { createContentStore } from '../adapters/dynamodb/delivery/content-store.ts';
import { ContentUnreadableError } from '../core/delivery/ports.ts';
import type { NotificationContent } from '../core/model/notification.ts';
import { Problem } from '../core/model/problem.ts';
import { newRunId, type QueueMessage } from '../core/model/queue-message.ts';
import { tally } from '../core/operator/audit.ts';
import { type CancelResult, cancel, type GiveUpResult, giveUp } from '../core/operator/cancel.ts';
import { type RetryResult, retryNow } from '../core/operator/retry-now.ts';
import { type Decision, decisionOf } from './audit.ts';
import type { Action } from './contract/choices.ts';
import type { OperatorDeps } from './deps.ts';

/** What operators do with notifications that they chose one by one. */
export interface ChosenAction {
  readonly action: Action;
  readonly log_ids: readonly string[];
  /** updated_at by log_id, as a person saw it: what has changed since is refused. */
  readonly shown?: Readonly<Record<string, string>> | undefined;
}

export type Results = readonly (RetryResult | CancelResult | GiveUpResult)[];

interface Acted {
  readonly results: Results;
  /** What was queued. */
  readonly messages: readonly QueueMessage[];
}

type ActionDeps = Pick<OperatorDeps, 'rows' | 'lanes' | 'records' | 'clock' | 'newId'> & {
  readonly deployment: Pick<OperatorDeps['deployment'], 'retry_policy'>;
  /** Takes what was queued. */
  readonly onQueued?: (messages: readonly QueueMessage[]) => void;
};

export function act(chosen: ChosenAction, deps: ActionDeps): Decision<Results> {
  const { action, log_ids } = chosen;
  const run_id = newRunId('manual', deps.newId());
  return decisionOf({ what: action, on: log_ids, details: { run_id } }, async () => {
    const { results, messages } = await perform(chosen, run_id, deps);
    deps.onQueued?.(messages);
    return { answer: results, result: tally(results) };
  });
}

/** What the action would do: the same decisions on the same rows, but nothing is written or sent. */
export function tryAction(chosen: ChosenAction, { rows, lanes, records, ...deps }: ActionDeps): Decision<Results> {
  const writesNothing = {
    ...deps,
    rows: { read: rows.read, change: async () => true },
    lanes: { ...lanes, send: async () => [] },
    // Each by its name: a new write does not compile here.
    records: { find: records.find, putIfAbsent: async () => true, replace: async () => true },
  };
  return { ...act(chosen, writesNothing), audit: undefined };
}

/** A row that is not as it was shown is not read at all, and thus neither changed nor queued. */
async function perform({ shown = {}, ...chosen }: ChosenAction, run_id: string, deps: ActionDeps): Promise<Acted> {
  const changed = new Set<string>();
  const read: typeof deps.rows.read = async (log_id) => {
    const row = await deps.rows.read(log_id);
    if (row === undefined || !Object.hasOwn(shown, log_id) || shown[log_id] === row.updated_at) return row;
    changed.add(log_id);
    return undefined;
  };
  const { results, messages } = await performOn(chosen, run_id, { ...deps, rows: { ...deps.rows, read } });
  return {
    messages,
    results: results.map((result) =>
      changed.has(result.log_id) ? { log_id: result.log_id, result: 'refused', because: CHANGED } : result,
    ),
  };
}

const CHANGED = 'it has changed since it was shown: look at it again';

async function performOn({ action, log_ids }: ChosenAction, run_id: string, deps: ActionDeps): Promise<Acted> {
  const { rows, lanes, records, clock, deployment } = deps;
  if (action === 'cancel') return { results: await cancel(log_ids, run_id, { rows, records, clock }), messages: [] };
  if (action === 'give_up') return { results: await giveUp(log_ids, { rows, clock }), messages: [] };
  const redrive = action === 'redrive';
  return retryNow(log_ids, run_id, { rows, send: lanes.send, policy: deployment.retry_policy, clock, redrive });
}

interface OfNotification {
  readonly tenant_id: string;
  readonly log_id: string;
}

/** Whom it is for, or with `reveal.content` what is sent, too. @throws Problem when it cannot be decrypted any more */
export function revealContent(
  what: 'reveal' | 'reveal.content',
  { tenant_id, log_id }: OfNotification,
  { deployment, dynamodb }: OperatorDeps,
): Decision<NotificationContent> {
  const contents = createContentStore(dynamodb, deployment.tables.notification_content, deployment.sealer(dynamodb));
  return decisionOf({ what, on: [log_id], shows: true }, async () => {
    try {
      return { answer: await contents.read({ tenant_id, log_id }), result: { revealed: 1 } };
    } catch (error) {
      if (!(error instanceof ContentUnreadableError)) throw error;
      throw new Problem('conflict', `The recipient cannot be shown: ${error.message}`);
    }
  });
}
