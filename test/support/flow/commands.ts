import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { findLocalDeployment } from '../../../src/adapters/deployment/local-deployment.ts';
import { parseRetryJobOptions } from '../../../src/batch/retry-job/retry-job-options.ts';
import { type RetryJobResult, runRetryJob } from '../../../src/batch/retry-job/run-retry-job.ts';
import { runProgram } from '../../../src/cli/program.ts';
import { recordingTerminal } from '../cli/recording-terminal.ts';
import { PROJECT_ROOT } from '../project-root.ts';

const JOB = 'src/batch/notification-retry.ts';
const OPS = 'src/cli/main.ts';

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * The commands of the local runtime whose `.local` lies in `directory`. Each process costs a second of CPU, so they
 * run in the process of the test, except where the process itself is tested.
 */
export class Commands {
  readonly #directory: string;
  readonly #root: string;

  /** @param root another version of this project, whose commands run in processes of their own */
  constructor(directory: string, root = PROJECT_ROOT) {
    this.#directory = directory;
    this.#root = root;
  }

  /** BATCH-952. @throws Error if its options are wrong, or the outcomes are not known */
  async job(args: readonly string[]): Promise<RetryJobResult> {
    const options = parseRetryJobOptions(['--local', '--json', ...args]);
    if (options === 'help') throw new Error('the test wants a run');
    const progress = { step() {}, update() {}, note() {}, end() {} };
    const run = { wait: options.wait, progress, signal: new AbortController().signal };
    const { result, failure } = await runRetryJob(options.request, await findLocalDeployment(this.#directory), run);
    if (failure !== undefined) throw new Error(`the job failed: ${failure}`);
    return result;
  }

  /** @param input all of stdin */
  async ops(args: readonly string[], input = ''): Promise<Ended> {
    if (this.#root !== PROJECT_ROOT) return this.opsProcess(args);
    const { terminal, written } = recordingTerminal({ input });
    const code = await runProgram([...args, '--local'], {
      terminal,
      findDeployment: () => findLocalDeployment(this.#directory),
      clock: () => new Date(),
      env: process.env,
      pause: (ms) => setTimeout(ms),
      stopped: () => Promise.resolve(),
      newId: randomUUID,
      interruption: () => ({ signal: new AbortController().signal, exitCode: () => undefined }),
      stateDirectory: join(this.#directory, '.local', 'ops'),
    });
    return { code, stdout: written.out, stderr: written.err };
  }

  /** BATCH-952 as `npm run` starts it. */
  jobProcess(args: readonly string[]): Promise<Ended> {
    return this.#process(JOB, args);
  }

  opsProcess(args: readonly string[]): Promise<Ended> {
    return this.#process(OPS, [...args, '--local']);
  }

  /** Starts an operator's command that the test interrupts. */
  startOps(args: readonly string[]): ChildProcess {
    return spawn(process.execPath, [join(this.#root, OPS), ...args, '--local'], {
      cwd: this.#directory,
      stdio: 'ignore',
    });
  }

  #process(command: string, args: readonly string[]): Promise<Ended> {
    return new Promise((resolve) => {
      const line = [join(this.#root, command), ...args];
      execFile(process.execPath, line, { cwd: this.#directory }, (error, stdout, stderr) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr });
      });
    });
  }
}
