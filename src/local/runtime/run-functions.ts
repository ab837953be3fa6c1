import { join } from 'node:path';
import type { AwsClients } from '../emulator/aws-clients.ts';
import {
  parseSchedule,
  secondsBetweenRuns,
  startSchedule,
  type Timing,
  timedSchedules,
} from '../emulator/events/schedule.ts';
import type { LocalOverrides, ServiceEndpoints } from '../emulator/lambda/environment.ts';
import { type FunctionFleet, startFunctions } from '../emulator/lambda/function-host.ts';
import type { InvocationResult, InvokeByName } from '../emulator/lambda/invocation.ts';
import { startSqsEventSource } from '../emulator/sources/sqs-event-source.ts';
import { StreamEventSource } from '../emulator/sources/stream-event-source.ts';
import { fileCheckpoints } from '../emulator/sources/stream-shard.ts';
import { isAwaited, type LocalPlan } from '../emulator/template/plan.ts';
import { recordProcesses, type Teardown } from '../processes/teardown.ts';
import { queueUrl } from '../stand-ins/tables-and-queues.ts';
import type { Log } from '../support/running.ts';
import type { LocalStack } from './create-stack.ts';
import type { Directories } from './directories.ts';

/** Longest wait of a sweep for the rows that were put before it, in milliseconds. */
const CATCH_UP_MS = 10_000;

export interface RunOptions {
  readonly stack: Pick<LocalStack, 'plan' | 'clients' | 'send'>;
  readonly services: ServiceEndpoints;
  readonly overrides: LocalOverrides;
  /** Replaces the template's schedule of the sweep. */
  readonly sweep: Timing | 'off' | undefined;
  readonly directories: Directories;
  /** Processes that the next runtime kills, together with the functions', if this one is killed. */
  readonly standInPids: readonly number[];
  readonly log: Log;
  readonly signal: AbortSignal | undefined;
  readonly teardown: Teardown;
}

export interface RunningFunctions {
  readonly byService: FunctionFleet['byService'];
  /**
   * Calls a function as a client does. A function that a schedule calls first waits for the rows that were put before.
   */
  readonly invoke: InvokeByName;
  readonly caughtUp: Sources['caughtUp'];
}

/** Starts the functions, then their event sources, then the schedules. */
export function runFunctions(options: RunOptions): RunningFunctions {
  const { stack, services, directories, log, teardown } = options;
  const { plan } = stack;
  const record = (pids: readonly number[]) => recordProcesses(directories.home, [...options.standInPids, ...pids]);
  record([]);
  const fleet = startFunctions({
    plan,
    endpoints: services,
    overrides: options.overrides,
    logs: directories.logs,
    onProcessStarted: record,
  });
  teardown.add('functions', async () => fleet.close());
  options.signal?.throwIfAborted();
  const sources = startSources(plan, stack.clients, {
    sqsEndpoint: services.sqs,
    ...(directories.dataDir === undefined ? {} : { dataDir: directories.dataDir }),
    invoke: (name, event) => fleet.invoke(name, event),
    log,
    giveUp: stack.send,
  });
  teardown.add('event sources', sources.stop);
  const invoke = invokeAfter(sources, fleet, plan);
  startSchedules(plan, options.sweep, { invoke, log, teardown });
  return { byService: fleet.byService, invoke, caughtUp: sources.caughtUp };
}

function invokeAfter(sources: Sources, fleet: FunctionFleet, plan: LocalPlan): InvokeByName {
  const scheduled = new Set(plan.schedules.map(({ functionName }) => functionName));
  return (name, event) => {
    if (!fleet.has(name)) return undefined;
    if (!scheduled.has(name)) return fleet.invoke(name, event);
    return sources.caughtUp(CATCH_UP_MS).then(() => fleet.invoke(name, event));
  };
}

/** @throws Error that quotes the expression and says what would be right */
export function sweepTiming(schedule: string | undefined): Timing | 'off' | undefined {
  return schedule === undefined || schedule === 'off' ? schedule : parseSchedule(schedule);
}

export function overridesFrom(
  options: {
    readonly baseIntervalSeconds?: number;
    readonly breaker?: LocalOverrides['breaker'];
  },
  sweep: Timing | 'off' | undefined,
  secretsFile: string,
): LocalOverrides {
  const { baseIntervalSeconds, breaker } = options;
  return {
    secretsFile,
    ...(baseIntervalSeconds === undefined ? {} : { baseIntervalSeconds }),
    ...(breaker === undefined ? {} : { breaker }),
    ...(typeof sweep === 'object' ? { sweepIntervalSeconds: secondsBetweenRuns(sweep, new Date()) } : {}),
  };
}

/** @param sweep replaces the template's schedule of the sweep */
function startSchedules(
  plan: LocalPlan,
  sweep: Timing | 'off' | undefined,
  { invoke, log, teardown }: { readonly invoke: InvokeByName; readonly log: Log; readonly teardown: Teardown },
): void {
  for (const { schedule, timing } of timedSchedules(plan, sweep)) {
    const stop = startSchedule(schedule, timing, async (name, event) => {
      const result = await invoke(name, event);
      if (result !== undefined && !result.ok) log(`${name}, scheduled: ${result.error.errorMessage}`);
    });
    teardown.add('schedule', async () => stop());
  }
}

/** Between two looks at a stream that others wait for: a run begins when its rows are taken in. */
const POLL_AWAITED_MS = 75;
/** Concurrent batches per queue, unless its mapping allows fewer. Two lanes thus use a function's four processes. */
const BATCHES_AT_ONCE = 2;
/** Milliseconds that a stop waits for batches. An interrupted attempt is repeated after its claim expires. */
const DRAIN_MS = 10_000;

interface SourcesOptions {
  readonly sqsEndpoint: string;
  /** Directory that keeps the positions in the streams. */
  readonly dataDir?: string;
  readonly invoke: (functionName: string, event: string) => Promise<InvocationResult>;
  readonly giveUp: (queueName: string, message: string) => Promise<void>;
  readonly log: Log;
}

interface Sources {
  readonly caughtUp: (timeoutMs: number) => Promise<boolean>;
  readonly stop: () => Promise<void>;
}

function startSources(plan: LocalPlan, { dynamodb, streams, sqs }: AwsClients, options: SourcesOptions): Sources {
  const { log } = options;
  const queues = plan.queueMappings.map((mapping) =>
    startSqsEventSource({
      client: sqs,
      queueUrl: queueUrl(options.sqsEndpoint, mapping.queueName),
      mapping,
      invoke: (event) => options.invoke(mapping.functionName, event),
      log,
      concurrency: BATCHES_AT_ONCE,
    }),
  );
  const tables = plan.streamMappings.map((mapping) => ({
    isAwaited: isAwaited(plan, mapping),
    source: new StreamEventSource({
      dynamodb,
      streams,
      mapping,
      checkpoints:
        options.dataDir === undefined
          ? new Map<string, string>()
          : fileCheckpoints(join(options.dataDir, 'streams', `${mapping.id}.json`)),
      invoke: (event) => options.invoke(mapping.functionName, event),
      giveUp: async (message) => {
        if (mapping.onFailureQueue !== undefined) await options.giveUp(mapping.onFailureQueue, message);
      },
      log,
      ...(isAwaited(plan, mapping) && { pollMs: POLL_AWAITED_MS }),
    }),
  }));
  return {
    async caughtUp(timeoutMs) {
      const awaited = tables.flatMap(({ isAwaited, source }) => (isAwaited ? [source.caughtUp(timeoutMs)] : []));
      return (await Promise.all(awaited)).every(Boolean);
    },
    async stop() {
      const drained = Promise.all([...queues, ...tables.map(({ source }) => source)].map((source) => source.stop()));
      let timer: NodeJS.Timeout | undefined;
      const enough = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, DRAIN_MS);
      });
      await Promise.race([drained, enough]);
      clearTimeout(timer);
    },
  };
}
