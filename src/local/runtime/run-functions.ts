import {
  parseSchedule,
  secondsBetweenRuns,
  startSchedule,
  type Timing,
  timedSchedules,
} from '../emulator/events/schedule.ts';
import type { LocalOverrides, ServiceEndpoints } from '../emulator/lambda/environment.ts';
import { type FunctionFleet, startFunctions } from '../emulator/lambda/function-fleet.ts';
import type { InvokeByName } from '../emulator/lambda/invocation.ts';
import { type Sources, startSources } from '../emulator/sources/event-sources.ts';
import type { LocalPlan } from '../emulator/template/plan.ts';
import { recordProcesses } from '../processes/orphans.ts';
import type { Teardown } from '../processes/teardown.ts';
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
