import { createContentStore } from '../../adapters/dynamodb/delivery/delivery-stores.ts';
import { CLOCK_ERROR_MS } from '../../core/delivery/policy/attempt-times.ts';
import { ContentUnreadableError } from '../../core/delivery/ports.ts';
import { CHANNELS } from '../../core/model/channels.ts';
import type { NotificationContent, NotificationRow } from '../../core/model/notification.ts';
import { Problem } from '../../core/model/problem.ts';
import { newRunId, type QueueMessage } from '../../core/model/queue-message.ts';
import { checkRetry, type RetryCheck, stateOf } from '../../core/model/row-state.ts';
import { isoAfter } from '../../core/model/time.ts';
import { type Decision, decisionOf, tally } from '../../core/operator/audit.ts';
import { type CancelResult, cancel, type GiveUpResult, giveUp } from '../../core/operator/cancel.ts';
import { checkCorrection } from '../../core/operator/correct.ts';
import type { Taken } from '../../core/operator/dead-letters/dead-letter.ts';
import { CHANGED, type RetryResult, retryNow } from '../../core/operator/retry-now.ts';
import { type Action, shellCommand } from '../contract/choices.ts';
import type { ActionCheck, NotificationDetail } from '../contract/notifications.ts';
import type { OperatorDeps } from '../deps.ts';

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
  /** What was dead of them. */
  readonly dead: readonly NotificationRow[];
}

type ActionDeps = Pick<OperatorDeps, 'rows' | 'lanes' | 'records' | 'clock' | 'newId'> & {
  readonly deployment: Pick<OperatorDeps['deployment'], 'retry_policy'>;
  /** Takes what was queued. */
  readonly onQueued?: (messages: readonly QueueMessage[]) => void;
  readonly deleteLetters?: DeleteLetters;
};

/** Has the letters of dead notifications deleted that somebody took, after this time. Never rejects. */
export type DeleteLetters = (taken: Taken, after_seconds: number) => Promise<void>;

/** The one attempt of a dead notification is over by then. Until it is, its letter is the only one that it has. */
const ATTEMPT_SECONDS = 60;

export function act(chosen: ChosenAction, deps: ActionDeps): Decision<Results> {
  const { action, log_ids } = chosen;
  const run_id = newRunId('manual', deps.newId());
  return decisionOf({ what: action, on: log_ids, details: { run_id } }, async () => {
    const began = deps.clock();
    const { results, messages, dead } = await perform(chosen, run_id, deps);
    deps.onQueued?.(messages);
    if (dead.length > 0) await deps.deleteLetters?.(takenOf(dead, began), action === 'retry' ? ATTEMPT_SECONDS : 0);
    return { answer: results, result: tally(results) };
  });
}

/** @param began when the act began: what it has sent itself may become a letter */
export function takenOf(dead: readonly Pick<NotificationRow, 'log_id' | 'channel'>[], began: Date): Taken {
  return {
    log_ids: dead.map(({ log_id }) => log_id),
    channels: CHANNELS.filter((name) => dead.some(({ channel }) => channel === name)),
    cut_off: isoAfter(began, -CLOCK_ERROR_MS),
    most: dead.length,
  };
}

/** What the action would do: the same decisions on the same rows, but nothing is written or sent. */
export function tryAction(chosen: ChosenAction, { rows, lanes, records, ...deps }: ActionDeps): Decision<Results> {
  const writesNothing = {
    ...deps,
    rows: { read: rows.read, change: async () => true },
    lanes: { ...lanes, send: async () => [] },
    deleteLetters: async () => {},
    // Each by its name: a new write does not compile here.
    records: { find: records.find, putIfAbsent: async () => true, replace: async () => true },
  };
  return { ...act(chosen, writesNothing), audit: undefined };
}

const DONE: readonly Results[number]['result'][] = ['queued', 'cancelled', 'given_up'];

/** A row that is not as it was shown counts as not there, and is thus neither changed nor queued. */
async function perform({ shown = {}, ...chosen }: ChosenAction, run_id: string, deps: ActionDeps): Promise<Acted> {
  const changed = new Set<string>();
  const dead = new Map<string, NotificationRow>();
  const read: typeof deps.rows.read = async (log_id) => {
    const row = await deps.rows.read(log_id);
    if (row !== undefined && stateOf(row, deps.clock()) === 'dead') dead.set(log_id, row);
    if (row === undefined || !Object.hasOwn(shown, log_id) || shown[log_id] === row.updated_at) return row;
    changed.add(log_id);
    return undefined;
  };
  const { results, messages } = await performOn(chosen, run_id, { ...deps, rows: { ...deps.rows, read } });
  return {
    messages,
    dead: results.flatMap(({ log_id, result }) => (DONE.includes(result) ? (dead.get(log_id) ?? []) : [])),
    results: results.map((result) =>
      changed.has(result.log_id) ? { log_id: result.log_id, result: 'refused', because: CHANGED } : result,
    ),
  };
}

async function performOn(
  { action, log_ids }: ChosenAction,
  run_id: string,
  deps: ActionDeps,
): Promise<Omit<Acted, 'dead'>> {
  const { rows, lanes, records, clock, deployment } = deps;
  if (action === 'cancel') return { results: await cancel(log_ids, run_id, { rows, records, clock }), messages: [] };
  if (action === 'give_up') return { results: await giveUp(log_ids, { rows, clock }), messages: [] };
  const redrive = action === 'redrive';
  return retryNow(log_ids, run_id, { rows, send: lanes.send, policy: deployment.retry_policy, clock, redrive });
}

type OfNotification = Pick<NotificationRow, 'tenant_id' | 'log_id' | 'life'>;

/** Whom it is for, or with `reveal.content` what is sent, too. @throws Problem when it cannot be decrypted any more */
export function revealContent(
  what: 'reveal' | 'reveal.content',
  row: OfNotification,
  deps: ContentDeps,
): Decision<NotificationContent> {
  return decisionOf({ what, on: [row.log_id], shows: true }, async () => ({
    answer: await readContent(row, deps),
    result: { revealed: 1 },
  }));
}

type ContentDeps = Pick<OperatorDeps, 'deployment' | 'dynamodb'>;

/** @throws Problem when it cannot be decrypted any more */
export async function readContent(
  { tenant_id, log_id, life }: OfNotification,
  { deployment, dynamodb }: ContentDeps,
): Promise<NotificationContent> {
  const contents = createContentStore(dynamodb, deployment.tables.notification_content, deployment.sealer(dynamodb));
  try {
    return await contents.read({ tenant_id, log_id, ...(life !== undefined && { life }) });
  } catch (error) {
    if (!(error instanceof ContentUnreadableError)) throw error;
    throw new Problem('conflict', `The recipient cannot be shown: ${error.message}`);
  }
}

type Possible = Pick<NotificationDetail, 'actions' | 'correction' | 'commands'>;

/** What may be done about a notification, or why not, and by which commands. */
export function possibleFor(row: NotificationRow, deps: Pick<OperatorDeps, 'clock' | 'local'>): Possible {
  const now = deps.clock();
  // With another recipient, which a wrong one needs.
  const correction = checked(checkCorrection(row, { recipient: '' }, now));
  return { actions: actionsFor(row, now), correction, commands: commandsFor(row, deps, now) };
}

function actionsFor(row: NotificationRow, now: Date): Possible['actions'] {
  const check = checkRetry(row, now);
  const state = stateOf(row, now);
  const isWaiting = state === 'due' || state === 'waiting' || state === 'abandoned' || state === 'dead';
  return {
    redrive:
      state !== 'dead'
        ? no(`only a dead notification starts again: it is ${state.replaceAll('_', ' ')}`)
        : checked(check),
    retry: checked(check),
    cancel: isWaiting ? { possible: true } : no(`there is nothing to cancel: it is ${state.replaceAll('_', ' ')}`),
    give_up: state === 'dead' ? { possible: true } : no('only a dead notification can be taken off the list'),
  };
}

const checked = (check: RetryCheck) => ('refused' in check ? no(check.refused) : ({ possible: true } as const));

const no = (because: string): ActionCheck => ({ possible: false, because });

function commandsFor(row: NotificationRow, { local }: Pick<OperatorDeps, 'local'>, now: Date): Possible['commands'] {
  const { log_id, channel } = row;
  const isDead = stateOf(row, now) === 'dead';
  return [
    { label: 'Show', command: shellCommand('show', local, [], [log_id]) },
    ...(isDead ? [{ label: 'Redrive', command: shellCommand('retry', local, ['--redrive'], [log_id]) }] : []),
    { label: isDead ? 'Try once' : 'Retry', command: shellCommand('retry', local, [], [log_id]) },
    isDead
      ? { label: 'Dismiss', command: shellCommand('dlq drop', local, [], [log_id]) }
      : { label: 'Cancel retries', command: shellCommand('cancel', local, [], [log_id]) },
    ...(isDead
      ? [{ label: 'Redrive the channel', command: shellCommand('dlq redrive', local, ['--channel', channel]) }]
      : []),
  ];
}
