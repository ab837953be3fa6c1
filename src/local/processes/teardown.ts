import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivateFile } from '../../processes/private-file.ts';
import { identityOf, isRunning, type ProcessIdentity } from '../../processes/process-identity.ts';
import { readLeft } from '../support/running.ts';

/** Steps that undo a start, in reverse order. A step that fails does not keep the others from running. */
export class Teardown {
  readonly #steps: { readonly name: string; readonly run: () => Promise<void> }[] = [];
  #running: Promise<void> | undefined;

  add(name: string, run: () => Promise<void>): void {
    this.#steps.push({ name, run });
  }

  /** A second call returns the first one's result. @throws AggregateError of failed steps, after all have run */
  run(): Promise<void> {
    this.#running ??= this.#runAll();
    return this.#running;
  }

  async #runAll(): Promise<void> {
    const failures: Error[] = [];
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step.run();
      } catch (cause) {
        failures.push(new Error(`${step.name} could not be stopped`, { cause }));
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, failures.map((failure) => failure.message).join('; '));
  }
}

/**
 * Kills the processes that an earlier runtime left in `directory`. Child processes end by themselves with their parent;
 * this is for a child that could not notice the end, such as a function in an endless loop.
 */
export function killOrphans(directory: string): void {
  for (const identity of readLeft<readonly ProcessIdentity[]>(file(directory), [])) {
    // Where its start time cannot be read, a process cannot be told from a later one: it is left alone.
    if (isRunning(identity) !== true) continue;
    try {
      process.kill(identity.pid, 'SIGKILL');
    } catch {
      // It ended in the meantime.
    }
  }
  rmSync(file(directory), { force: true });
}

/** Records the processes that the next runtime kills if this one is killed; replaces the earlier record. */
export function recordProcesses(directory: string, pids: readonly number[]): void {
  writePrivateFile(file(directory), JSON.stringify(pids.map(identityOf)));
}

const file = (directory: string): string => join(directory, 'processes.json');
