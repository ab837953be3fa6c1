import { createBreakerStore } from '../adapters/dynamodb/breaker/breaker-store.ts';
import { createPacingStore } from '../adapters/dynamodb/pacing/pacing-store.ts';
import { createDueIndex, lastSweeps } from '../adapters/dynamodb/sweep/sweep-stores.ts';
import { toForeignRow } from '../adapters/dynamodb/table/item.ts';
import { getItems } from '../adapters/dynamodb/table/reads.ts';
import { queueCounts } from '../adapters/sqs/lanes.ts';
import { CHANNELS, type Channel, channelsIn } from '../core/model/channels.ts';
import { type Clock, DAY_MS } from '../core/model/time.ts';
import { type BreakerStatus, breakerStatus, HELD_COLUMNS, type Holders } from '../core/operator/views/held.ts';
import { healthSince, integrationHealth } from '../core/operator/views/integration-health.ts';
import {
  HistoryUnavailableError,
  type MetricHistory,
  outcomeSeries,
  type Series,
} from '../core/operator/views/outcome-series.ts';
import { laneStatus, workFigures } from '../core/operator/views/pipeline-status.ts';
import { readBudgets } from '../core/pacing/budget-status.ts';
import type { SweepRecord } from '../core/sweep/sweep-run.ts';
import type { Health, Overview } from './contract/overview.ts';
import { groupDead, readDead } from './dead-groups.ts';
import type { OperatorDeps } from './deps.ts';
import { listNotifications } from './list-notifications.ts';

/** Rows that are read for the causes; the counts by channel come from the index. */
const MOST_CAUSE_ROWS = 500;
/** Sweeps of a day at the shortest schedule that makes sense for a chart: every five minutes. */
const DAY_SWEEPS = 288;
const SHOWN_SWEEPS = 10;
/** Milliseconds in which all pages that ask get the same answer. */
const CACHED_MS = 2_000;

/** The overview. Pages that ask within two seconds share one reading. */
export function createOverview(deps: OperatorDeps): () => Promise<Overview> {
  let opened: Promise<MetricHistory> | undefined;
  const history = () => {
    opened ??= deps.deployment.metricHistory();
    return opened;
  };
  return cachedFor(CACHED_MS, deps.clock, () => readOverview(deps, history));
}

/** Rows that are read for the health of integrations: about 600 read units. */
const MOST_HEALTH_ROWS = 1_000;
/** One minute is fresh enough for figures of a day. */
const HEALTH_CACHED_MS = 60_000;

/** The health of the integrations, from the newest rows of the last day: nothing is written per integration. */
export function createHealth(deps: OperatorDeps): () => Promise<Health> {
  return cachedFor(HEALTH_CACHED_MS, deps.clock, async () => {
    const now = deps.clock();
    const since = healthSince(now).toISOString();
    const period = () => ({ from: since, to: now.toISOString() });
    const asked = { source: 'created', period, filter: {}, limit: MOST_HEALTH_ROWS } as const;
    const { rows, next_cursor } = await listNotifications(asked, deps);
    const integrations = integrationHealth(rows, now);
    return { since, read: rows.length, complete: next_cursor === null, integrations };
  });
}

async function readOverview(deps: OperatorDeps, history: () => Promise<MetricHistory>): Promise<Overview> {
  const now = deps.clock();
  const [{ figures, breakers }, dead, budgets, sweeps, outcomes] = await Promise.all([
    figuresNow(now, deps),
    readDead({ most: MOST_CAUSE_ROWS }, deps),
    budgetsNow(now, deps),
    listSweeps(DAY_SWEEPS, deps),
    outcomesOf(history, now),
  ]);
  return {
    channels: figures.channels,
    causes: groupDead(dead.rows).map(({ channel, failure_reason, error_type, integration, count, remedy }) => ({
      channel,
      failure_reason,
      error_type,
      integration,
      count,
      remedy,
    })),
    causes_complete: dead.complete,
    breakers: withNotifications(breakers, figures.heldBy),
    budgets,
    sweeps: sweeps.slice(0, SHOWN_SWEEPS).map(({ duration_ms: _, ...sweep }) => sweep),
    ...outcomes,
    series: [...seriesOf(sweeps, now), ...outcomes.series],
  };
}

async function figuresNow(now: Date, deps: OperatorDeps) {
  const [breakers, inFlight] = await Promise.all([breakersNow(now, deps), messagesInFlight(deps)]);
  return { breakers, figures: await workFigures(deps.entries, now, { holders: holders(breakers, deps), inFlight }) };
}

/** The breakers that are not closed. */
export async function breakersNow(
  now: Date,
  { deployment, dynamodb, clock }: Pick<OperatorDeps, 'deployment' | 'dynamodb' | 'clock'>,
): Promise<BreakerStatus[]> {
  return breakerStatus(await createBreakerStore(dynamodb, deployment.tables.pipeline_state, clock).list(), now);
}

/** How many each of them holds now, beside the attempts that it has held. */
const withNotifications = (breakers: readonly BreakerStatus[], heldBy: (breaker: BreakerStatus) => number) =>
  breakers.map((breaker) => ({ ...breaker, notifications: heldBy(breaker) }));

function holders(breakers: readonly BreakerStatus[], { dynamodb, deployment }: OperatorDeps): Holders {
  const { notification_log } = deployment.tables;
  const rows = async (log_ids: readonly string[]) => {
    const keys = log_ids.map((log_id) => ({ log_id: { S: log_id } }));
    const items = await getItems(dynamodb, notification_log, keys, { consistent: false, columns: HELD_COLUMNS });
    return items.map(toForeignRow);
  };
  return { breakers, rows };
}

async function budgetsNow(now: Date, { deployment, dynamodb }: OperatorDeps) {
  const pacing = createPacingStore(dynamodb, deployment.tables.pipeline_state);
  const budgets = await Promise.all(CHANNELS.map((channel) => readBudgets(channel, pacing, now)));
  return budgets.flat();
}

/** The last sweeps of the dispatcher, newest first. */
export function listSweeps(limit: number, { deployment, dynamodb }: OperatorDeps): Promise<SweepRecord[]> {
  return lastSweeps(dynamodb, deployment.tables.pipeline_state, limit);
}

/** Outcomes and alarms. Where they cannot be read, the answer says why: the rest of the overview does not need them. */
async function outcomesOf(
  open: () => Promise<MetricHistory>,
  now: Date,
): Promise<Pick<Overview, 'series' | 'series_problem' | 'alarms' | 'alarms_problem'>> {
  const history = await unlessUnavailable(open());
  if ('problem' in history) return { series: [], series_problem: history.problem, alarms: [] };
  const { found } = history;
  const [series, ringing] = await Promise.all([
    unlessUnavailable(outcomeSeries(found, now)),
    unlessUnavailable(found.ringing?.() ?? Promise.resolve([])),
  ]);
  return {
    ...('problem' in series ? { series: [], series_problem: series.problem } : { series: series.found }),
    ...('problem' in ringing ? { alarms: [], alarms_problem: ringing.problem } : { alarms: ringing.found }),
  };
}

async function unlessUnavailable<A>(
  asked: Promise<A>,
): Promise<{ readonly found: A } | { readonly problem: { readonly detail: string; readonly remedy: string } }> {
  try {
    return { found: await asked };
  } catch (error) {
    if (!(error instanceof HistoryUnavailableError)) throw error;
    return { problem: { detail: error.message, remedy: error.remedy } };
  }
}

/** Messages in work, by channel. */
async function messagesInFlight({ sqs, deployment }: OperatorDeps): Promise<Partial<Record<Channel, number>>> {
  const counts = await Promise.all(
    CHANNELS.map(async (channel) => {
      const urls = Object.values(deployment.lane_queues[channel] ?? {});
      const queues = await Promise.all(urls.map((url) => queueCounts(sqs, url)));
      return [channel, queues.reduce((sum, { in_flight }) => sum + in_flight, 0)] as const;
    }),
  );
  return Object.fromEntries(counts);
}

/** What each sweep of the last day found and queued. */
function seriesOf(sweeps: readonly SweepRecord[], now: Date): Series[] {
  const since = new Date(now.getTime() - DAY_MS).toISOString();
  const lastDay = sweeps.filter(({ started_at }) => started_at >= since).reverse();
  const series = (name: Series['name'], of: (sweep: SweepRecord) => number): Series => ({
    name,
    unit: 'notifications',
    points: lastDay.map((sweep) => ({ at: sweep.started_at, value: of(sweep) })),
  });
  return [series('due', ({ due }) => due), series('dispatched', ({ dispatched }) => dispatched)];
}

/** An answer is kept for at least this many times the time that it took: pages that poll use up a sixth of a CPU. */
const KEPT_TIMES = 5;

/** Shares one reading among all who ask within the period: each open page polls, and an answer costs many reads. */
function cachedFor<T>(ms: number, clock: Clock, read: () => Promise<T>): () => Promise<T> {
  interface Asked {
    readonly value: Promise<T>;
    until?: number;
  }
  let last: Asked | undefined;
  return () => {
    const isFresh = last !== undefined && (last.until === undefined || clock().getTime() < last.until);
    if (isFresh && last !== undefined) return last.value;
    const begun = clock().getTime();
    const asked: Asked = { value: read() };
    last = asked;
    asked.value.then(
      () => {
        const now = clock().getTime();
        asked.until = now + Math.max(ms, KEPT_TIMES * (now - begun));
      },
      () => {
        // A failed reading is not kept.
        if (last === asked) last = undefined;
      },
    );
    return asked.value;
  };
}

/** The exact figures of each lane, which cost a reading of the whole work index; with what slows its provider down. */
export async function readStatus(deps: OperatorDeps) {
  const { deployment, dynamodb, sqs, shards, clock } = deps;
  const now = clock();
  const index = createDueIndex(dynamodb, deployment.tables.notification_log, async () => (await shards()).work);
  const [breakers, budgets] = await Promise.all([breakersNow(now, deps), budgetsNow(now, deps)]);
  const { lanes, heldBy } = await laneStatus({
    index,
    channels: channelsIn(deployment.lane_queues),
    inFlight: async (channel, lane) => {
      const url = deployment.lane_queues[channel]?.[lane];
      return url === undefined ? 0 : (await queueCounts(sqs, url)).in_flight;
    },
    now,
    holders: holders(breakers, deps),
  });
  return { lanes, breakers: withNotifications(breakers, heldBy), budgets };
}
