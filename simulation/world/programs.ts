import type { RecordStore, RetryQueue, RowStore } from '../../src/core/delivery/ports.ts';
import { applyDeliveryEvent, type EventRows } from '../../src/core/delivery-events/apply-delivery-event.ts';
import type { DeliveryEvent } from '../../src/core/delivery-events/delivery-event.ts';
import type { QueuedMessage } from '../../src/core/model/lanes.ts';
import { DEFAULT_RETRY_POLICY as policy } from '../../src/core/model/retry-policy.ts';
import type { DueIndex } from '../../src/core/model/work-index.ts';
import { cancel } from '../../src/core/operator/cancel.ts';
import { retryNow } from '../../src/core/operator/retry-now.ts';
import type { MalformedEntries } from '../../src/core/sweep/malformed-entries.ts';
import { sweep } from '../../src/core/sweep/sweep.ts';
import type { SweepRequest } from '../../src/core/sweep/sweep-request.ts';
import type { Env, Program } from './actor.ts';
import { portOf } from './channel-program.ts';

const HOUR = 3_600_000;
/** An event comes back after so many seconds when storage failed (functions/delivery-events). */
const AFTER_FAULT_SECONDS = 60;

/** Takes messages for the lanes. @returns those that SQS does not take */
const send = (env: Env) => async (messages: readonly QueuedMessage[]) => {
  if (messages.length === 0) return [];
  return (await env.call('lanes.send', messages)) === 'refused' ? [...messages] : [];
};

/** It reads one page per partition that may have entries; of lanes and of earlier sweeps it knows nothing. */
export function sweeper(run_id: string, request: SweepRequest = {}): Program {
  return (env) => {
    const page: DueIndex['page'] = (queue, query) => env.call('index.page', queue, query);
    return sweep(
      { priority: 'info', ...request },
      { run_id },
      {
        index: { shards: async () => 1, page },
        sweeps: { lastCompleted: async () => undefined, lastExpress: async () => undefined },
        malformed: portOf<MalformedEntries>(env, 'malformed', 'setAside'),
        lanes: { backlog: async () => 0, send: send(env) },
        interval_ms: HOUR,
        clock: env.clock,
        policy,
      },
    );
  };
}

/** One invocation of the function of delivery events: the event comes back if it says so, or fails. */
export function teller(event: DeliveryEvent): Program {
  return async (env) => {
    const { clock, random } = env;
    const deps = {
      rows: portOf<EventRows>(env, 'eventRows', 'read', 'change'),
      records: portOf<RecordStore>(env, 'records', 'put', 'putIfAbsent', 'find'),
      retries: portOf<RetryQueue>(env, 'retries', 'send'),
      ...{ policy, clock, random },
    };
    const report = await applyDeliveryEvent(event, deps).catch(env.fault);
    await env.call('event.end', event, report ? (report.again_after_seconds ?? null) : AFTER_FAULT_SECONDS);
  };
}

export function operator(command: 'cancel' | 'retry', log_id: string): Program {
  return (env) => {
    const { clock } = env;
    const rows = portOf<RowStore>(env, 'operatorRows', 'read', 'change');
    if (command === 'retry') return retryNow([log_id], 'manual-1', { rows, send: send(env), policy, clock });
    const records = portOf<RecordStore>(env, 'records', 'put', 'putIfAbsent', 'find');
    return cancel([log_id], 'manual-1', { rows, records, clock });
  };
}
