import type { AttributeValue, DynamoDBRecord } from 'aws-lambda';
import type { SweepFunctionDeps } from '../../../functions/dispatcher/handler.ts';
import { toItem } from '../../../src/adapters/dynamodb/table/item.ts';
import type { SweepEvent } from '../../../src/adapters/lambda/events.ts';
import { foresight } from '../../../src/core/delivery/claim-plan.ts';
import type { RecordStore, RetryQueue, RowStore } from '../../../src/core/delivery/ports.ts';
import { malformedEntries } from '../../../src/core/delivery/take-over.ts';
import { applyDeliveryEvent, type EventRows } from '../../../src/core/delivery-events/apply-delivery-event.ts';
import type { DeliveryEvent } from '../../../src/core/delivery-events/delivery-event.ts';
import type { IndexStore } from '../../../src/core/indexing/index-row.ts';
import { accept } from '../../../src/core/intake/accept.ts';
import type { IntakeStore } from '../../../src/core/intake/ports.ts';
import { type ReportStore, reportFailure } from '../../../src/core/intake/report-failure.ts';
import { perChannel } from '../../../src/core/model/channels.ts';
import type { ProviderErrorType } from '../../../src/core/model/error-types.ts';
import { Problem } from '../../../src/core/model/problem.ts';
import type { QueuedMessage, SweepLanes } from '../../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY as policy } from '../../../src/core/model/retry-policy.ts';
import type { DueIndex } from '../../../src/core/model/work-index.ts';
import type { SweepLog } from '../../../src/core/sweep/sweep-run.ts';
import { type ContentSteps, putInSteps } from '../twins/content-steps.ts';
import type { Env, Program } from './actor.ts';
import { loadedIn, observed, portOf } from './ports.ts';
import type { Image, Lanes } from './state.ts';

const LANE = { express: 'https://sqs/1/express', standard: 'https://sqs/1/standard' };
export const ENVIRONMENT: Readonly<Record<string, string>> = {
  AWS_REGION: 'us-east-1',
  NOTIFICATION_LOG_TABLE: 'log',
  NOTIFICATION_CONTENT_TABLE: 'content',
  NOTIFICATION_RETRY_LOG_TABLE: 'retries',
  DATA_KEYS_TABLE: 'keys',
  PIPELINE_STATE_TABLE: 'state',
  INDEX_SHARDS: '{"work":8,"history":4}',
  LOCAL_SECRETS_FILE: '/none',
  SWEEP_INTERVAL_SECONDS: '3600',
  LANE_SECONDS: '300',
  LANE_QUEUES: JSON.stringify(perChannel(() => LANE)),
  RETRY_POLICY: JSON.stringify({
    base_interval_seconds: 300,
    max_retries: { urgent: 10, important: 7, normal: 5, info: 3 },
    retention_hours: { urgent: 24, important: 12, normal: 6, info: 3 },
  }),
};

const [{ createHandler: createDispatcher }, { createHandler: createIndexer }] = await loadedIn(ENVIRONMENT, () =>
  Promise.all([
    import('../../../functions/dispatcher/handler.ts'),
    import('../../../functions/due-indexer/handler.ts'),
  ]),
);

const HOUR = 3_600_000;
/** Seconds until an event comes back when storage failed (functions/delivery-events). */
const AFTER_FAULT_SECONDS = 60;
/** Lambda's longest time for a function: nothing here takes it. */
const PATIENT = { getRemainingTimeInMillis: () => 900_000 };
const SHARDS = { work: 1, history: 1 };

/** Takes messages for the lanes. @returns those that SQS does not take */
export const send = (env: Env) => async (messages: readonly QueuedMessage[]) => {
  if (messages.length === 0) return [];
  return (await env.call('lanes.send', messages)) === 'refused' ? [...messages] : [];
};

const PAST = ['lastCompleted', 'lastExpress', 'lastAhead', 'record', 'recordExpress', 'recordAhead'] as const;

/** What a dispatcher is put together with, beside the ports of its environment. */
interface Dispatcher extends Pick<SweepFunctionDeps, 'continueWith'>, Partial<Pick<SweepFunctionDeps, 'interval_ms'>> {
  readonly shards: number;
  readonly short_lanes: Omit<SweepFunctionDeps['short_lanes'], 'pause'>;
  readonly lanes: SweepLanes;
  readonly log: SweepLog;
}

/** The deployed handler, whose calls all go to its environment. */
export function dispatcher(env: Env, { shards, short_lanes, ...parts }: Dispatcher) {
  const page: DueIndex['page'] = (queue, query) => env.call('index.page', queue, query);
  const rows = portOf<RowStore>(env, 'operatorRows', 'read', 'change');
  return createDispatcher(
    {
      foresee: foresight({ rows, clock: env.clock, policy }),
      index: { shards: async () => shards, page },
      malformed: malformedEntries({
        rows,
        records: portOf<RecordStore>(env, 'records', 'putIfAbsent', 'replace', 'find'),
        clock: env.clock,
      }),
      short_lanes: { ...short_lanes, pause: (ms) => env.call('time.pause', ms) },
      newId: () => '',
      interval_ms: HOUR,
      clock: env.clock,
      policy,
      ...parts,
    },
    observed(env),
  );
}

/** What the dispatcher remembers of its sweeps. */
const sweepLogOf = (env: Env) => portOf<SweepLog>(env, 'log', ...PAST);

/**
 * One invocation of the dispatcher. It reads one page per partition that may have entries.
 * @param lanes which it sees and keeps short; it then remembers the sweeps before it
 */
export function sweeper(run_id: string, event: SweepEvent, lanes: Lanes | undefined): Program {
  return (env) => {
    const nothing = async () => undefined;
    const log = lanes
      ? sweepLogOf(env)
      : (Object.fromEntries(PAST.map((name) => [name, nothing])) as unknown as SweepLog);
    const backlog: SweepLanes['backlog'] = async (channel, lane) =>
      lanes?.seen.includes(channel) ? env.call('lanes.backlog', channel, lane) : 0;
    const handler = dispatcher(env, {
      shards: 1,
      short_lanes: { seconds: 10, least: lanes?.least ?? 2 },
      lanes: { backlog, send: send(env) },
      log,
      ...(lanes && { interval_ms: lanes.interval_ms }),
      continueWith: async () => {},
    });
    return handler({ run_id, ...event }, PATIENT);
  };
}

/** One invocation of the function of delivery events: the event comes back if it says so, or fails. */
export function teller(event: DeliveryEvent): Program {
  return async (env) => {
    const { clock, random } = env;
    const deps = {
      rows: portOf<EventRows>(env, 'eventRows', 'read', 'change'),
      records: portOf<RecordStore>(env, 'records', 'putIfAbsent', 'replace', 'find'),
      retries: portOf<RetryQueue>(env, 'retries', 'send'),
      policy,
      clock,
      random,
    };
    const report = await applyDeliveryEvent(event, deps).catch(env.fault);
    await env.call('event.end', event, report ? (report.again_after_seconds ?? null) : AFTER_FAULT_SECONDS);
  };
}

/** Takes rows in; the steps by which a content is stored are calls of their own, as DynamoDB's. */
function indexStoreOf(env: Env, room: string): IndexStore {
  return {
    ...portOf<Pick<IndexStore, 'index' | 'hasContent'>>(env, room, 'index', 'hasContent'),
    putContent: putInSteps(portOf<ContentSteps>(env, room, 'putFirst', 'readLife', 'putBehind')),
  };
}

/** One invocation of the indexer on records of the stream, which goes on after those that it has dealt with. */
export function indexer(images: readonly Image[]): Program {
  return async (env) => {
    const store = indexStoreOf(env, 'indexing');
    const handler = createIndexer({ store, shards: async () => SHARDS, policy, clock: env.clock }, observed(env));
    const { batchItemFailures } = await handler({ Records: images.map(recordOf) });
    const failed = images.findIndex(({ sequence }) => batchItemFailures[0]?.itemIdentifier === sequence);
    await env.call('stream.end', failed < 0 ? images : images.slice(0, failed));
  };
}

function recordOf({ row, sequence }: Image): DynamoDBRecord {
  const NewImage = toItem(row) as Record<string, AttributeValue>;
  const Keys = { log_id: { S: String(row['log_id']) } };
  return { eventName: 'MODIFY', dynamodb: { Keys, NewImage, SequenceNumber: sequence } };
}

/** A producer's request to the API, with the log_id as its key; it is told whether its notification is accepted. */
export function producer(log_id: string, request: string): Program {
  return async (env) => {
    const routing = { channel: 'email', priority: 'info' } as const;
    const content = { recipient: `${log_id}@example.com`, body: `words for ${log_id}`, format: 'PLAIN' } as const;
    try {
      const { message } = await accept(
        { tenant_id: 'tenant-1', notification: { ...routing, ...content }, request_hash: 'hash', logId: () => log_id },
        {
          store: portOf<IntakeStore>(env, 'intake', 'reserve', 'find', 'advance', 'putRow', 'findRow'),
          records: portOf<RecordStore>(env, 'records', 'putIfAbsent'),
          shards: async () => SHARDS,
          newId: () => request,
          policy,
          clock: env.clock,
        },
      );
      // The request is answered even if the lane does not take the message.
      if (message !== undefined) await send(env)([message]).catch(env.fault);
      await env.call('producer.accepted', log_id);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
    }
  };
}

/** A producer reports that it could not send a notification itself; it is told where that is no more use. */
export function reporter(log_id: string, request: string, error_type: ProviderErrorType): Program {
  return async (env) => {
    const attempted_at = env.clock().toISOString();
    try {
      const { message } = await reportFailure(
        log_id,
        'tenant-1',
        { error_type, attempted_at },
        {
          reports: {
            ...portOf<Pick<ReportStore, 'change' | 'settle' | 'readRow'>>(
              env,
              'reports',
              'change',
              'settle',
              'readRow',
            ),
            ...indexStoreOf(env, 'reports'),
          },
          records: portOf<RecordStore>(env, 'records', 'putIfAbsent', 'replace', 'find'),
          recordsOf: (of) => env.call('reports.readRecords', of),
          shards: async () => SHARDS,
          newId: () => request,
          policy,
          clock: env.clock,
        },
      );
      if (message !== undefined) await send(env)([message]).catch(env.fault);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
    }
  };
}
