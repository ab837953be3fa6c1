import { createOperationRows } from '../adapters/dynamodb/operator/operator-search.ts';
import { type ReplacedDeps, replacedLetters } from '../adapters/sqs/dead-letters.ts';
import { channelsIn } from '../core/model/channels.ts';
import { Problem } from '../core/model/problem.ts';
import { epochMs } from '../core/model/time.ts';
import type { DropReplaced } from '../core/operator/dead-letters/dead-letter.ts';
import {
  auditDetails,
  differences,
  inWords,
  type NewOperation,
  type OperateDeps,
  type OperationAct,
  operate,
  operationOf,
  possibleActs,
} from '../core/operator/operations/operate.ts';
import {
  cancelled,
  isActive,
  isOver,
  type Operation,
  type OperationStore,
} from '../core/operator/operations/operation.ts';
import { dryRunOperation, type RunDeps, runOperation } from '../core/operator/operations/run-operation.ts';
import type { Decide } from './audit.ts';
import { correctionStore } from './chosen/correct.ts';
import type { OperatorDeps } from './deps.ts';
import { makeOperation } from './operations.ts';

/** Milliseconds after which a command looks again at what another process works on. */
const LOOK_AGAIN_MS = 1_000;

/** An operation that this process works on. What is done to it is in the audit log, as what the console does. */
export interface OwnRun {
  create(request: NewOperation): Promise<Operation>;
  /** Starts or resumes it as it is now, at this rate if one is given, if it needs that. */
  begin(operation_id: string, rate?: number): Promise<Operation>;
  /** Ends it if nobody has started it. */
  abandon(operation_id: string): Promise<void>;
  /**
   * Works on it until its state is another one: its preview is made, it has ended, or somebody paused it. While another
   * process works on it, this one looks on, and goes on if that one dies.
   * @param show what it is after each change
   */
  follow(operation: Operation, show: (operation: Operation) => void): Promise<Operation>;
  /** What the operation would be; nothing is stored, changed or audited. */
  dryRun(request: NewOperation, show: (operation: Operation) => void): Promise<Operation>;
  /** Notifications that this process took. */
  sent(): number;
}

interface OwnRunDeps extends OperatorDeps {
  readonly decide: Decide;
  readonly pause: (ms: number) => Promise<void>;
  readonly onFault: ReplacedDeps['onFault'];
}

/**
 * What works on an operation. Its rows are read consistently, so that no decision depends on an outdated one.
 * @param onFault takes why letters of a channel stay
 */
export function runDepsOf(deps: OperatorDeps, onFault: ReplacedDeps['onFault']) {
  const { dynamodb, deployment, clock, shards, lanes } = deps;
  const candidates = createOperationRows(dynamodb, deployment.tables.notification_log, clock, shards);
  const { correct } = correctionStore(deps);
  const dropReplaced = dropReplacedOf(deps, onFault);
  return { ...deps, candidates, correct, send: lanes.send, policy: deployment.retry_policy, dropReplaced };
}

/** Deletes letters of the stage's channels with the rights of this process. */
export function dropReplacedOf(
  { deployment, sqs, rows }: Pick<OperatorDeps, 'deployment' | 'sqs' | 'rows'>,
  onFault: ReplacedDeps['onFault'],
): DropReplaced {
  const queues = Object.fromEntries(
    channelsIn(deployment.lane_queues).map((channel) => [channel, deployment.dead_letter_queues[channel]]),
  );
  return replacedLetters({ sqs, queues, rows, onFault });
}

/** @param signal ends the work after the page in work */
export function ownRun(given: OwnRunDeps, signal: AbortSignal): OwnRun {
  const { operations, rows, clock, newId, pause, decide } = given;
  let sent = 0;
  const deps: RunDeps = {
    ...runDepsOf(given, given.onFault),
    rows: {
      read: rows.read,
      async change(row, change) {
        const applied = await rows.change(row, change);
        if (applied) sent += 1;
        return applied;
      },
    },
    pause,
  };
  // This process runs it.
  const operating: OperateDeps = { operations, clock, newId, startRun: async () => {} };
  const current = async (operation_id: string) => {
    const found = await operations.read(operation_id);
    if (found === undefined) throw new Problem('not-found', `${operation_id} is not stored any more.`);
    return found;
  };

  /** @param of the operation as the act makes it */
  async function audited<A>(act: 'rate' | OperationAct, of: Operation, run: () => Promise<A>): Promise<A> {
    const audit = { what: `operation.${act}`, on: [of.operation_id], details: auditDetails(of) };
    return decide({ audit, run: async () => ({ answer: await run(), result: { accepted: 1 } }) });
  }

  return {
    sent: () => sent,

    create: async (request) => current((await decide(makeOperation(request, operating))).operation_id),

    dryRun: (request, show) => dryRunOperation(operationOf(request, operating), deps, show, () => signal.aborted),

    async begin(operation_id, rate) {
      const found = await current(operation_id);
      const act = possibleActs(found).find((one) => one === 'start' || one === 'resume');
      const rated = { ...found, rate: rate ?? found.rate };
      // What a process that crashed left running is gone on with: that is no act.
      if (isOver(found) || (act === undefined && rated.rate === found.rate)) return found;
      return audited(act ?? 'rate', rated, async () => {
        if (rated.rate !== found.rate) await operations.change(found, { set: { rate: rated.rate } });
        return act === undefined ? current(operation_id) : operate(operation_id, act, operating);
      });
    },

    async abandon(operation_id) {
      const found = await current(operation_id);
      if (found.started_at !== undefined || isOver(found)) return;
      // Only as it was read: somebody may start it at this moment.
      await audited('cancel', found, () => operations.change(found, cancelled(found.progress, clock())));
    },

    async follow(given, show) {
      const shown: OperationStore = {
        ...operations,
        async change(was, change) {
          const changed = await operations.change(was, change);
          if (changed !== undefined) show(changed);
          return changed;
        },
      };
      let operation = given;
      while (isActive(operation) && operation.status === given.status && !signal.aborted) {
        const result = await runOperation(given.operation_id, { ...deps, operations: shown }, () => signal.aborted);
        operation = await current(operation.operation_id);
        show(operation);
        if (result === 'busy' && !signal.aborted) await pause(LOOK_AGAIN_MS);
      }
      return operation;
    },
  };
}

/** An unfinished replay is continued by the same command for this long. After that the command starts a new one. */
const CONTINUABLE_MS = 24 * 3_600_000;
const LOOKED_AT = 50;
const ALL = { kind: 'redrive', filter: {}, include_stopped: false } as const;

type ReplayDeps = Pick<OperatorDeps, 'operations' | 'clock'>;
/** The operation that a command continues; or the id of another one that did not finish and differs in its period. */
type Unfinished = { readonly operation?: Operation; readonly other?: string };

/**
 * The unfinished operation of the same command, or the one with this id. An unknown id beside other options begins a
 * replay under this id, which leaves notifications out that have it already.
 * @throws Problem when the id stands for another operation than the options describe
 */
export async function unfinishedReplay(
  id: string | undefined,
  request: NewOperation,
  deps: ReplayDeps,
): Promise<Unfinished> {
  if (id === undefined) return sameReplay(request, deps);
  const found = await deps.operations.read(id);
  if (found !== undefined) checkIsMeant(found, request);
  // An unknown id alone would begin a replay without any condition, of everything.
  else if (isByIdAlone(request)) throw new Problem('not-found', `There is no replay ${id}: the console lists them.`);
  return found === undefined ? {} : { operation: found };
}

const isByIdAlone = (request: NewOperation) => differences(request, ALL).length === 0;

function checkIsMeant(found: Operation, request: NewOperation): void {
  const is = inWords(found);
  const conflict = (why: string) => new Problem('conflict', why);
  if (found.kind !== 'redrive')
    throw conflict(`${is}: a replay continues redrives only. The console continues this one; omit --id for a replay.`);
  const names = isByIdAlone(request) ? [] : differences(found, request);
  if (names.length > 0)
    throw conflict(
      `${is}, and these options say something else (${names.join(', ')}): ` +
        'give --id alone to continue it as it is, or omit --id to begin a replay of what the options say.',
    );
  if (isOver(found))
    throw conflict(`${found.operation_id} is ${found.status}: omit --id, and a new replay takes what is left.`);
}

/** The newest begun, unfinished replay with the same bounds. Another operator may look at one not begun. */
async function sameReplay(request: NewOperation, { operations, clock }: ReplayDeps): Promise<Unfinished> {
  const oldest = clock().getTime() - CONTINUABLE_MS;
  let [other, before]: (string | undefined)[] = [];
  for (;;) {
    const page = await operations.list({ limit: LOOKED_AT, ...(before !== undefined && { before }) });
    const recent = page.filter(({ created_at }) => epochMs(created_at) >= oldest);
    for (const one of recent) {
      if (one.reads_stopped !== true || one.started_at === undefined || isOver(one)) continue;
      const names = differences(one, request);
      if (names.length === 0) return { operation: one };
      if (names.every((name) => name.startsWith('created_'))) other ??= one.operation_id;
    }
    before = page.at(-1)?.operation_id;
    if (recent.length === 0 || page.length < LOOKED_AT) return other === undefined ? {} : { other };
  }
}
