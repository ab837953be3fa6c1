import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type FunctionPlan, isAwaited, type LocalPlan } from '../template/plan.ts';
import { functionEnvironment, type LocalOverrides, type ServiceEndpoints } from './environment.ts';
import type { InvocationResult } from './invocation.ts';
import { Sandbox } from './sandbox.ts';

/** A process that is idle for this long is ended, unless it is the function's last. Each takes about 100 MB. */
const IDLE_MS = 20_000;

/** As Lambda: a warm process per concurrent invocation, at most `limit`; further invocations wait. */
export class FunctionHost {
  readonly #start: () => Sandbox;
  readonly #limit: number;
  readonly #warm: Sandbox[] = [];
  readonly #busy = new Set<Sandbox>();
  #started: Sandbox[] = [];
  readonly #waiting: (() => void)[] = [];
  #closed = false;

  constructor(
    plan: FunctionPlan,
    environment: Readonly<Record<string, string>>,
    logFile: string,
    onStarted: () => void = () => {},
    limit = 4,
  ) {
    this.#limit = limit;
    this.#start = () => {
      const sandbox = new Sandbox(plan, environment, logFile);
      this.#started = [...this.#started.filter((one) => !one.dead), sandbox];
      onStarted();
      return sandbox;
    };
  }

  /** Pids of the processes that run, and of some that have ended. */
  get pids(): number[] {
    return this.#started.map((sandbox) => sandbox.pid);
  }

  /** Never rejects: an error becomes a failed invocation, as on Lambda. @param event JSON */
  async invoke(event: string): Promise<InvocationResult> {
    while (this.#busy.size >= this.#limit && !this.#closed) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (this.#closed) {
      return { ok: false, error: { errorType: 'Runtime.Stopped', errorMessage: 'The local runtime is stopping' } };
    }
    const sandbox = this.#take();
    this.#busy.add(sandbox);
    try {
      return await sandbox.invoke(randomUUID(), event);
    } finally {
      this.#busy.delete(sandbox);
      if (!sandbox.dead && !this.#closed) this.#keepWarm(sandbox);
      this.#waiting.shift()?.();
    }
  }

  warmUp(): void {
    if (this.#warm.length + this.#busy.size === 0) this.#warm.push(this.#start());
  }

  /** Kills every process, also during an invocation. */
  close(): void {
    this.#closed = true;
    for (const sandbox of [...this.#warm, ...this.#busy]) sandbox.kill();
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #keepWarm(sandbox: Sandbox): void {
    this.#warm.push(sandbox);
    const used = sandbox.invocations;
    const reap = setTimeout(() => {
      if (sandbox.invocations !== used || this.#warm.length < 2) return;
      this.#warm.splice(this.#warm.indexOf(sandbox), 1);
      sandbox.kill();
    }, IDLE_MS);
    reap.unref();
  }

  #take(): Sandbox {
    // The process that was used last most likely still has its pages in memory and its connections open.
    for (let sandbox = this.#warm.pop(); sandbox !== undefined; sandbox = this.#warm.pop()) {
      if (!sandbox.dead) return sandbox;
    }
    return this.#start();
  }
}

export interface FunctionFleet {
  has(name: string): boolean;
  /** Calls a function. An unknown name is a failed invocation, as on Lambda. */
  invoke(name: string, event: string): Promise<InvocationResult>;
  /** Function names by service; a service is a folder under functions/. */
  readonly byService: Readonly<Record<string, string>>;
  close(): void;
}

interface FleetOptions {
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
