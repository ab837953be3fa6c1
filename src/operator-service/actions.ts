import { createContentStore } from '../adapters/dynamodb/delivery/content-store.ts';
import { ContentUnreadableError } from '../core/delivery/conduct-attempt.ts';
import { Problem } from '../core/model/problem.ts';
import { newRunId, type QueueMessage } from '../core/model/queue-message.ts';
import { tally } from '../core/operator/audit/audited.ts';
import { type CancelResult, cancel, type GiveUpResult, giveUp } from '../core/operator/cancel.ts';
import { type RetryResult, retryNow } from '../core/operator/retry-now.ts';
import type { Decide } from './audit.ts';
import type { Action } from './contract/choices.ts';
import type { OperatorDeps } from './deps.ts';

/** What operators do with notifications that they chose one by one. */
export interface ChosenAction {
  readonly action: Action;
  readonly log_ids: readonly string[];
}

export interface Acted {
  readonly results: readonly (RetryResult | CancelResult | GiveUpResult)[];
  /** What was queued. */
  readonly messages: readonly QueueMessage[];
}

type ActionDeps = Pick<OperatorDeps, 'rows' | 'lanes' | 'records' | 'clock' | 'newId'> & {
  readonly deployment: Pick<OperatorDeps['deployment'], 'retry_policy'>;
};

export async function act(chosen: ChosenAction, deps: ActionDeps, decide: Decide) {
  const { action, log_ids } = chosen;
  const run_id = newRunId('manual', deps.newId());
  let messages: readonly QueueMessage[] = [];
  const { answer, repeated } = await decide({ what: action, on: log_ids, details: { run_id } }, async () => {
    const acted = await perform(chosen, run_id, deps);
    messages = acted.messages;
    return { answer: acted.results, result: tally(acted.results) };
  });
  return { results: answer, repeated, messages };
}

/** What the action would do: the same decisions on the same rows, but nothing is written or sent. */
export async function tryAction(chosen: ChosenAction, deps: ActionDeps): Promise<Acted['results']> {
  const { results } = await perform(chosen, newRunId('manual', deps.newId()), {
    ...deps,
    rows: { read: deps.rows.read, change: async () => true },
    lanes: { ...deps.lanes, send: async () => [] },
    records: { ...deps.records, putIfAbsent: async () => true },
  });
  return results;
}

async function perform({ action, log_ids }: ChosenAction, run_id: string, deps: ActionDeps): Promise<Acted> {
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

/** @throws Problem when it cannot be decrypted any more */
export async function revealRecipient(of: OfNotification, deps: OperatorDeps, decide: Decide): Promise<string> {
  const { answer } = await decide({ what: 'reveal', on: [of.log_id], shows: true }, async () => ({
    answer: await recipientOf(of, deps),
    result: { revealed: 1 },
  }));
  return answer;
}

async function recipientOf({ tenant_id, log_id }: OfNotification, deps: OperatorDeps): Promise<string> {
  const { deployment, dynamodb } = deps;
  const contents = createContentStore(dynamodb, deployment.tables.notification_content, deployment.sealer(dynamodb));
  try {
    return (await contents.read({ tenant_id, log_id })).recipient;
  } catch (error) {
    if (!(error instanceof ContentUnreadableError)) throw error;
    throw new Problem('conflict', `The recipient cannot be shown: ${error.message}`);
  }
}
