import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Announcement } from '../../processes/serve-parent.ts';
import { forkLogged } from '../../processes/start-child.ts';
import type { FunctionPlan } from '../template/plan.ts';
import type { FunctionError, InvocationResult, Outcome } from './invocation.ts';

/**
 * One process of a function. It runs one invocation at a time. After a kill or a crash it is `dead` and cannot be used.
 */
export class Sandbox {
  readonly #process: ChildProcess;
  readonly #plan: FunctionPlan;
  /** With why it could not be loaded, if so. */
  readonly loaded: Promise<FunctionError | undefined>;
  #dead = false;
  #invocations = 0;
  #cpu_us: Outcome['cpu_us'] = [0, 0];
  #finish: (result: InvocationResult) => void = () => {};

  constructor(
    plan: FunctionPlan,
    environment: Readonly<Record<string, string>>,
    logFile: string,
    nodeOptions: readonly string[] = [heapLimit(plan)],
  ) {
    this.#plan = plan;
    this.#process = forkLogged({
      entry: new URL('function-process.ts', import.meta.url),
      args: [plan.codeDirectory, plan.handler],
      logFile,
      nodeOptions,
      cwd: plan.codeDirectory,
      env: { ...environment },
    });
    this.loaded = new Promise((resolve) => {
      this.#process.once('message', (message) => {
        const said = message as Announcement;
        resolve('failed' in said ? { errorType: 'Runtime.ImportModuleError', errorMessage: said.failed } : undefined);
      });
      this.#process.once('exit', () => resolve(crashed('while it loaded')));
    });
    this.#process.on('message', (message) => {
      const said = message as Outcome | Announcement;
      if (!('result' in said)) return;
      this.#cpu_us = said.cpu_us;
      this.#finish(said.result);
    });
    this.#process.once('error', (error) => this.#end({ errorType: 'Runtime.SpawnError', errorMessage: error.message }));
    this.#process.once('exit', (code, signal) => this.#end(crashed(`with ${signal ?? `exit code ${code}`}`)));
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** Number of invocations that have started. */
  get invocations(): number {
    return this.#invocations;
  }

  /** Of the last invocation. */
  get cpu_us(): Outcome['cpu_us'] {
    return this.#cpu_us;
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Runs one invocation; never rejects. A process that exceeds its time limit is killed. */
  async invoke(id: string, event: string): Promise<InvocationResult> {
    this.#invocations += 1;
    const failure = await this.loaded;
    if (failure !== undefined) {
      this.kill();
      return { ok: false, error: failure };
    }
    const limit = this.#plan.timeoutSeconds * 1000;
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#finish({
          ok: false,
          error: {
            errorType: 'Sandbox.Timedout',
            errorMessage: `RequestId: ${id} Error: Task timed out after ${this.#plan.timeoutSeconds.toFixed(2)} seconds`,
          },
        });
        this.kill();
      }, limit);
      this.#finish = (result) => {
        clearTimeout(timer);
        this.#finish = () => {};
        resolve(result);
      };
      if (this.#dead) return this.#finish({ ok: false, error: crashed('before it was called') });
      this.#process.send({ id, event, deadline: Date.now() + limit }, (error) => {
        if (error !== null) this.#end(crashed(error.message));
      });
    });
  }

  kill(): void {
    this.#dead = true;
    this.#process.kill('SIGKILL');
  }

  /** Lets the process end by itself, so that it writes its profile. */
  async end(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, 'exit');
    if (this.#process.connected) this.#process.disconnect();
    await exited;
  }

  #end(error: FunctionError): void {
    this.#dead = true;
    this.#finish({ ok: false, error });
  }
}

/** On Lambda, too, a tenth of the memory is not available to the heap. */
export function heapLimit({ memoryMegabytes }: FunctionPlan): string {
  return `--max-old-space-size=${Math.floor(memoryMegabytes * 0.9)}`;
}

function crashed(how: string): FunctionError {
  return { errorType: 'Runtime.ExitError', errorMessage: `The function's process ended ${how}` };
}
