import { join } from 'node:path';
import { isAwaited, type LocalPlan } from '../template/plan.ts';
import { functionEnvironment, type LocalOverrides, type ServiceEndpoints } from './environment.ts';
import { FunctionHost } from './function-host.ts';
import type { InvocationResult } from './invocation.ts';

export interface FunctionFleet {
  has(name: string): boolean;
  /** Calls a function. An unknown name is a failed invocation, as on Lambda. */
  invoke(name: string, event: string): Promise<InvocationResult>;
  /** Function names by service; a service is a folder under functions/. */
  readonly byService: Readonly<Record<string, string>>;
  close(): void;
}

export interface FleetOptions {
  readonly plan: LocalPlan;
  readonly endpoints: ServiceEndpoints;
  readonly overrides: LocalOverrides;
  readonly logs: string;
  /** Is called after each start of a process with the pids of all that run, and of some that have ended. */
  readonly onProcessStarted: (pids: readonly number[]) => void;
}

export function startFunctions({ plan, endpoints, overrides, logs, onProcessStarted }: FleetOptions): FunctionFleet {
  const hosts = new Map<string, FunctionHost>();
  const byService: Record<string, string> = {};
  const onStarted = () => onProcessStarted([...hosts.values()].flatMap((host) => host.pids));
  for (const one of plan.functions) {
    const service = one.environment['POWERTOOLS_SERVICE_NAME'] ?? one.name;
    byService[service] = one.name;
    const environment = functionEnvironment(one, endpoints, overrides);
    hosts.set(one.name, new FunctionHost(one, environment, join(logs, `${service}.log`), onStarted));
  }
  // The first row that is put and the first sweep call these functions.
  const awaited = plan.streamMappings.filter((mapping) => isAwaited(plan, mapping));
  for (const { functionName } of [...plan.schedules, ...awaited]) hosts.get(functionName)?.warmUp();
  return {
    has: (name) => hosts.has(name),
    async invoke(name, event) {
      const unknown = { errorType: 'ResourceNotFoundException', errorMessage: `Function not found: ${name}` };
      return (await hosts.get(name)?.invoke(event)) ?? { ok: false, error: unknown };
    },
    byService,
    close() {
      for (const host of hosts.values()) host.close();
    },
  };
}
