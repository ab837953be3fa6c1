import { PRIORITIES, type Priority } from '../../../src/core/model/channels.ts';
import { BASE_SHARDS } from '../../../src/core/model/index-shards.ts';
import { messageFor, queuedFor } from '../../../src/core/model/queue-message.ts';
import { PRIORITY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { createRandom, type Draw, START } from '../engine/virtual-time.ts';
import type { Arrivals } from '../scenarios/scenario.ts';
import { logIdOf } from '../twins/tables.ts';
import type { World } from './world.ts';

/** After this time, an intake that the table refused is repeated. */
const REPEATED_MS = 300;

/** Hands the notifications over, one after the other, at even distances that are blurred a little. */
export function schedule(arrivals: Arrivals, world: World, seed: number): void {
  const { count, from, until } = arrivals;
  const draw = createRandom(seed, `arrivals ${arrivals.group} ${arrivals.channel}`);
  const handOver = createHandOver(arrivals, world, draw);
  const begin = START.getTime() + from * 1000;
  const distance = ((until - from) * 1000) / count;
  const timeOf = (index: number) => begin + (index + draw()) * distance;
  const { time } = world;
  let given = 0;
  let next = timeOf(0);
  const tick = () => {
    while (given < count && next <= time.now) {
      if (!handOver()) return time.at(time.now + REPEATED_MS, tick);
      given += 1;
      next = timeOf(given);
    }
    if (given < count) time.at(next, tick);
  };
  if (count > 0) time.at(next, tick);
}

/** @returns hands one notification over now, and tells whether the table took it */
function createHandOver(arrivals: Arrivals, world: World, draw: Draw): () => boolean {
  const { indexShards: shards = BASE_SHARDS.work } = world.scenario;
  const { group, tenants, channel, receivers = 1, by } = arrivals;
  const priorities = drawPriority(arrivals, draw);
  const cohorts = new Map(PRIORITIES.map((priority) => [priority, { group, priority }]));
  const integrationOf = (tenant_id: string) =>
    channel !== 'email' && { integration_config_id: `${tenant_id}-${channel}-${Math.floor(draw() * receivers)}` };
  return () => {
    const tenant_id = tenants[Math.floor(draw() * tenants.length)] ?? group;
    const priority = priorities();
    const integration = integrationOf(tenant_id);
    const { tables, time } = world;
    const log_id = logIdOf(tables.size);
    const work_at = new Date(time.now).toISOString();
    const work_queue = workQueueOf('due', priority, log_id, shards);
    if (!world.takesRow(work_queue)) return false;
    const { max_retries } = PRIORITY_POLICY[priority];
    const sent = by === 'table' ? 1 : 0;
    world.given(tables.size, cohorts.get(priority) ?? { group, priority });
    tables.insert({
      log_id,
      tenant_id,
      channel,
      priority,
      ...integration,
      ...(by === 'api' && { created_by: 'intake-api' }),
      send_status: sent === 1 ? 'FAILED' : 'PENDING',
      send_attempts: sent,
      attempts_left: max_retries + 1 - sent,
      retry_count: 0,
      last_attempt: sent - 1,
      work_queue,
      work_at,
      ...(by === 'api' && queuedFor(work_at, { priority }, time.clock())),
      ...(sent === 1 && { first_attempt_at: work_at, next_retry_at: work_at }),
    });
    if (by === 'api') world.queue(messageFor({ log_id, tenant_id, channel, priority }, work_at, 'sweep-intake'), 0);
    return true;
  };
}

function drawPriority({ priorities }: Arrivals, draw: Draw): () => Priority {
  const parts = PRIORITIES.flatMap((priority) => Array<Priority>(priorities[priority] ?? 0).fill(priority));
  return () => parts[Math.floor(draw() * parts.length)] ?? 'normal';
}
