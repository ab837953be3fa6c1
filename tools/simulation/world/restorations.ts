import { DEFAULT_RETRY_POLICY as policy } from '../../../src/core/model/retry-policy.ts';
import type { AuditRecord } from '../../../src/core/operator/audit.ts';
import { actsSince } from '../../../src/core/restore/operator-acts.ts';
import { newRestore, type RestorePorts } from '../../../src/core/restore/restore-state.ts';
import { restore } from '../../../src/core/restore/run-restore.ts';
import { forgotten, restored, saysItAlone, unproven, unsendable } from '../audit/life-promises.ts';
import type { Stored } from '../audit/memory.ts';
import type { Program } from './actor.ts';
import type { Ground } from './ground.ts';
import { COMMANDS, operator } from './operator-programs.ts';
import { portOf } from './ports.ts';
import { isIdle, type Limit, type State } from './state.ts';
import type { Begin } from './writers.ts';

/** Log and content are copied, as point-in-time recovery does at any time; later one is lost, and restored to that time. */

const PARTS = {
  'the log': () => true,
  // With the rows that continue it.
  'a part of the log': (log_id: string) => /^\w[13]/.test(log_id),
} as const;

/** Until what still ran when the stage was stopped has ended (docs/restoring-a-table.md). */
const STOPPED_MS = 120_000;

/** What only the row says. */
const OF_WRITERS: readonly Limit[] = ['edits', 'deletions', 'corrections'];

/** Of what only the row says, what comes after the copy is lost for good. */
export function isLostLater({ copied_at, left, lost }: State, limit: Limit): boolean {
  const mayBeLost = copied_at !== undefined && ((left['restorations'] ?? 0) > 0 || lost !== undefined);
  return mayBeLost && OF_WRITERS.includes(limit);
}

export function restorations(ground: Ground, begin: Begin): void {
  const { state, tables } = ground;
  const isAtRest = state.late.length === 0 && state.actors.every(isIdle);
  if (state.copied_at === undefined) begin('backups', 'the log is copied', () => backUp(ground));
  else if (isAtRest && tables.log.size > 0) {
    begin('restorations', 'the content is lost', () => loseContent(ground));
    begin('restorations', 'the records are lost', () => loseRecords(ground));
    for (const [part, isLost] of Object.entries(PARTS))
      begin('restorations', `${part} is lost`, () => lose(ground, isLost));
  }
}

function backUp(ground: Ground): void {
  const { backup, tables } = ground;
  const copy = <T>(to: Map<string, T>, from: ReadonlyMap<string, T>) => {
    to.clear();
    for (const [id, item] of from) to.set(id, item);
  };
  copy(backup.log, tables.log);
  copy(backup.content, tables.content);
  copy(backup.retryLog, tables.retryLog);
  ground.set({ copied_at: new Date(ground.state.now).toISOString() });
}

function lose(ground: Ground, isLost: (log_id: string) => boolean): void {
  const { log, retryLog } = ground.tables;
  const { counts } = ground.state;
  const lost = [...log]
    .filter(([log_id]) => isLost(log_id))
    .map(([log_id, row]): Stored => ({ ...row, wished: counts[`${COMMANDS.wish} of ${log_id}`] }));
  const known = (log_id: string) => {
    const records = [...retryLog.values()].filter(({ original_log_id }) => original_log_id === log_id);
    const numbers = records.map(({ retry_attempt }) => retry_attempt);
    return Math.max(-1, Number(ground.backup.log.get(log_id)?.['last_attempt'] ?? -1), ...numbers);
  };
  for (const { log_id } of lost) log.delete(String(log_id));
  const isAlone = (row: Stored) => saysItAlone(row, ground.recordsOf(String(row['log_id'])));
  const { memory, consumer } = ground.state;
  const alone = lost.filter(isAlone).map(({ log_id }) => String(log_id));
  // Producers are told of these once more, whatever they were told before.
  const handled = consumer.handled.filter((event) => !alone.some((log_id) => event.includes(log_id)));
  ground.set({
    now: ground.state.now + STOPPED_MS,
    lostTable: 'log',
    alone,
    lost: lost.filter((row) => ![row['log_id'], row['predecessor_log_id']].some((id) => alone.includes(String(id)))),
    former: {},
    memory: forgotten(memory, lost, known, isAlone),
    consumer: { ...consumer, handled },
  });
}

/** What was stored since is lost for good. */
function loseContent(ground: Ground): void {
  const { content } = ground.tables;
  const lifeOf = (one?: { readonly life?: number }) => one?.life ?? 0;
  const alone = [...content].filter(([log_id, one]) => {
    const copy = ground.backup.content.get(log_id);
    return copy === undefined || lifeOf(copy) < lifeOf(one);
  });
  content.clear();
  const now = ground.state.now + STOPPED_MS;
  ground.set({ now, lost: [], lostTable: 'content', alone: alone.map(([log_id]) => log_id) });
}

/** Those of attempts since are lost for good. What a worker left claimed has nothing else that says how its attempt went. */
function loseRecords(ground: Ground): void {
  const { retryLog } = ground.tables;
  const since = [...retryLog.values()].filter(({ retry_log_id }) => !ground.backup.retryLog.has(retry_log_id));
  retryLog.clear();
  const alone = [...new Set(since.map(({ original_log_id }) => original_log_id))];
  const left = alone.filter((log_id) => ground.tables.log.get(log_id)?.['send_status'] === 'SENDING');
  const memory = unproven(ground.state.memory, left);
  ground.set({ now: ground.state.now + STOPPED_MS, lost: [], lostTable: 'records', alone, memory });
}

/** What is restored is there, by what was lost: the stage starts again. @param asked what a person is asked to decide */
export function endRestoration(ground: Ground, asked: readonly string[]): void {
  const { lost = [], lostTable, alone = [] } = ground.state;
  const rows = ground.rows();
  const isKept = ({ log_id }: Stored) => rows.some((row) => row['log_id'] === log_id);
  const told = lost.filter((row) => isKept(row) || !asked.includes(String(row['log_id'])));
  const hasArrived = (log_id: string) =>
    ground.recordsOf(log_id).some(({ retry_status }) => retry_status === 'SUCCESS');
  ground.violated(...restored(told, rows, hasArrived));
  const untold = (row: Stored) => alone.includes(String(row['log_id'])) && !asked.includes(String(row['log_id']));
  if (lostTable === 'content') ground.violated(...unsendable(rows.filter(untold)));
  ground.set({ lost: undefined });
}

/**
 * An operator restores the log while the stage is stopped, and does what it asks: erases once more whom somebody was
 * erasing. A second command goes on where the first one ended.
 */
export function restorer({ state: { copied_at = '', lost = [], lostTable }, apart: clocks_apart_ms }: Ground): Program {
  // Here only an erasure marks a row as deleted.
  const erased = lost.filter(({ is_deleted }) => is_deleted === true).map(({ log_id }) => String(log_id));
  return async (env) => {
    const state = newRestore();
    const copied = ({ content: 'contents', records: 'records', log: 'rows' } as const)[lostTable ?? 'log'];
    const acts = await env.call<readonly AuditRecord[]>('restoreOther.audit');
    const operations = await env.call<Parameters<typeof actsSince>[2]>('restoreOther.operations');
    await restore(state, {
      ...actsSince(copied_at, acts, operations),
      restored_to: copied_at,
      clocks_apart_ms,
      ports: {
        copies: portOf<Required<RestorePorts['copies']>>(env, 'restoreCopies', copied),
        deployed: portOf(env, 'restoreDeployed', 'rowPage', 'contentPage', 'rows', 'contents', 'records'),
        either: portOf(env, 'restoreEither', 'row', 'content', 'records'),
        put: portOf(env, 'restorePut', 'record', 'content', 'row'),
        acceptedRow: (content) => env.call('restoreOther.acceptedRow', content),
      },
      policy,
      shards: { work: 1, history: 1 },
      // Apart from what the tables draw: in a second of this world, a turn of theirs would be one of these.
      random: () => env.random() + 36 ** -3,
      clock: env.clock,
      dry_run: false,
      rate: Number.POSITIVE_INFINITY,
      pause: async () => {},
      isStopping: () => false,
    });
    if (state.asked.some(({ why }) => why === 'forgotten'))
      for (const log_id of erased) await operator('erase', log_id, 'restored')(env);
    const asked = state.asked.map(({ log_id }) => log_id);
    await env.call('operator.restored', asked);
  };
}
