import { join } from 'node:path';
import type { LocalPlan } from '../template/plan.ts';
import { functionEnvironment, type LocalOverrides, type ServiceEndpoints } from './environment.ts';
import { FunctionHost } from './function-host.ts';
import type { InvocationResult } from './sandbox.ts';

/** All functions of the stack, by name. */
export interface FunctionFleet {
  /**
   * Calls a function as a client does; one that a schedule calls as well waits for `beforeScheduled` first.
   * @returns undefined when there is no such function
   */
  invoke(name: string, event: string): Promise<InvocationResult> | undefined;
  /** Calls a function as its event source does, without waiting for anything. */
  invokeNow(name: string, event: string): Promise<InvocationResult>;
  /** What has to be through before a sweep looks at the table. */
  beforeScheduled(wait: () => Promise<unknown>): void;
  /** Names by service: the folder under functions/. */
  byService(): Record<string, string>;
  /** Of the processes that run, and of some that did. */
  pids(): readonly number[];
  close(): void;
}

export function startFunctions(
  plan: LocalPlan,
  endpoints: ServiceEndpoints,
  logs: string,
  onProcessStarted: () => void,
  overrides: LocalOverrides,
): FunctionFleet {
  const scheduled = new Set(plan.schedules.map((schedule) => schedule.functionName));
  const hosts = new Map<string, FunctionHost>();
  const services: Record<string, string> = {};
  for (const one of plan.functions) {
    const service = one.environment['POWERTOOLS_SERVICE_NAME'] ?? one.name;
    services[service] = one.name;
    const environment = functionEnvironment(one, endpoints, overrides);
    hosts.set(one.name, new FunctionHost(one, environment, join(logs, `${service}.log`), onProcessStarted));
  }
  // The first to be called, each by the first row that someone puts in and the first sweep.
  for (const { functionName } of [...plan.schedules, ...plan.streamMappings]) hosts.get(functionName)?.warmUp();

  let before: () => Promise<unknown> = async () => {};
  const invokeNow = async (name: string, event: string): Promise<InvocationResult> =>
    (await hosts.get(name)?.invoke(event)) ?? {
      ok: false,
      error: { errorType: 'ResourceNotFoundException', errorMessage: `Function not found: ${name}` },
    };
  return {
    invoke(name, event) {
      if (!hosts.has(name)) return undefined;
      return scheduled.has(name) ? before().then(() => invokeNow(name, event)) : invokeNow(name, event);
    },
    invokeNow,
    beforeScheduled(wait) {
      before = wait;
    },
    byService: () => services,
    pids: () => [...hosts.values()].flatMap((host) => host.pids),
    close() {
      for (const host of hosts.values()) host.close();
    },
  };
}
