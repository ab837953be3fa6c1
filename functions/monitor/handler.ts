import { SNSClient } from '@aws-sdk/client-sns';
import { createBreakerStore } from '../../src/adapters/dynamodb/breaker/breaker-store.ts';
import { createOperatorRows } from '../../src/adapters/dynamodb/delivery/guarded-rows.ts';
import { createShardMark } from '../../src/adapters/dynamodb/indexing/shard-mark.ts';
import { createPacingStore } from '../../src/adapters/dynamodb/pacing/pacing-store.ts';
import { createDueIndex } from '../../src/adapters/dynamodb/sweep/sweep-stores.ts';
import { createNoticeMark, createPublisher } from '../../src/adapters/sns/death-notices.ts';
import type { Channel } from '../../src/core/model/channels.ts';
import { noticeIn } from '../../src/core/model/language/japanese-notices.ts';
import type { Clock } from '../../src/core/model/time.ts';
import { type ReportDeathsDeps, reportDeaths } from '../../src/core/monitor/dead-notifications.ts';
import { type DownProviders, type ReportDownDeps, reportDownProviders } from '../../src/core/monitor/dead-providers.ts';
import { monitorFigures, openByChannel } from '../../src/core/monitor/monitor-figures.ts';
import { type BudgetStatus, budgetStatus } from '../../src/core/pacing/budget-status.ts';
import { createDynamoDb } from '../shared/runtime/clients/dynamodb.ts';
import { STORAGE_LIMITS } from '../shared/runtime/clients/lean.ts';
import { monitorEnv } from '../shared/runtime/env.ts';
import { bindFunction, count, countBy, type Observability } from '../shared/runtime/observability.ts';

export interface MonitorDeps extends ReportDeathsDeps, ReportDownDeps {
  readonly providers: DownProviders;
  readonly channels: readonly Channel[];
  /** The budget of e-mail, where the stage has e-mail. */
  readonly budget?: (now: Date) => Promise<BudgetStatus>;
  readonly clock: Clock;
}

/** Measures what shows only when nothing happens, so that no other function can. Reports new deaths to operators. */
export function createHandler(deps: MonitorDeps, { logger, metrics }: Observability) {
  return async (): Promise<void> => {
    const now = deps.clock();
    // A check that fails must not stop the others.
    const checks = await Promise.allSettled([
      monitorFigures(deps.index, now).then((figures) => {
        for (const channel of deps.channels) {
          countBy(metrics, 'OldestDueAge', { channel }, figures[channel].oldest_due_seconds);
          countBy(metrics, 'DeadNotifications', { channel }, figures[channel].dead);
        }
      }),
      deps.providers.list().then((breakers) => {
        const open = openByChannel(breakers, now);
        for (const channel of deps.channels) countBy(metrics, 'OpenBreakers', { channel }, open[channel]);
      }),
      reportDownProviders(deps, now).then((down) => {
        if (down.length > 0) logger.warn('providers are down for days', { providers: down });
      }),
      deps.budget?.(now).then(({ channel, per_second, max_24h, sent_24h, paused }) => {
        if (per_second !== null) countBy(metrics, 'SendRate', { channel }, per_second);
        if (max_24h !== null) countBy(metrics, 'DailyQuota', { channel }, max_24h);
        if (sent_24h !== null) countBy(metrics, 'DailyQuotaUsed', { channel }, sent_24h);
        countBy(metrics, 'PausedUses', { channel }, paused.length);
      }),
      reportDeaths(deps, now).then((deaths) => {
        count(metrics, 'DeadNotificationsReported', deaths);
        logger.info('monitor', { dead_notifications_reported: deaths });
      }),
    ]);
    const failed = checks.flatMap((check) => (check.status === 'rejected' ? [check.reason] : []));
    if (failed.length > 0) throw new AggregateError(failed, `The monitor failed: ${failed.map(String).join('; ')}`);
  };
}

export const handler = bindFunction(monitorEnv, (env, observability) => {
  const dynamodb = createDynamoDb();
  const clock = () => new Date();
  const breakers = createBreakerStore(dynamodb, env.PIPELINE_STATE_TABLE, clock);
  const budgets = createPacingStore(dynamodb, env.PIPELINE_STATE_TABLE);
  const mark = createShardMark(dynamodb, env.PIPELINE_STATE_TABLE);
  const publish = createPublisher(new SNSClient({ requestHandler: STORAGE_LIMITS }), env.ALERTS_TOPIC_ARN);
  const deps: MonitorDeps = {
    index: createDueIndex(dynamodb, env.NOTIFICATION_LOG_TABLE, async () => (await mark.read()).work),
    rows: createOperatorRows(dynamodb, env.NOTIFICATION_LOG_TABLE, clock),
    mark: createNoticeMark(dynamodb, env.PIPELINE_STATE_TABLE),
    providers: breakers,
    channels: env.CHANNELS,
    ...(env.CHANNELS.includes('email') && {
      budget: async (now: Date) => budgetStatus('email', await budgets.read('email'), now),
    }),
    publish: (notice) => publish(noticeIn(env.NOTICES_LANGUAGE, notice)),
    stack: env.STACK_NAME,
    clock,
  };
  return createHandler(deps, observability);
});
