import { fork } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { BUNDLE_OPTIONS } from '../../lib/constructs/function/function-bundle.ts';
import type { SynthesizedStack } from '../../src/local/emulator/template/assembly.ts';
import type { FunctionPlan } from '../../src/local/emulator/template/functions.ts';
import { type LocalPlan, planFrom } from '../../src/local/emulator/template/plan.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from '../../src/local/emulator/template/references.ts';
import { pinnedNode } from '../../src/local/processes/pinned-node.ts';
import type { Announcement } from '../../src/local/processes/serve-parent.ts';
import type { Series, SeriesOutcome } from '../processes/function-process.ts';

/** A function in its own process, which measures itself. */
export interface MeasuredFunction {
  /**
   * Handles the events one after the other.
   * @param warm_up number of events before the measurement starts
   * @throws Error with the function's error, or with the way its process ended
   */
  run(events: readonly unknown[], warm_up?: number): Promise<SeriesOutcome>;
  /** Ends the process as the kernel does, without a chance to finish. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface FunctionProcess {
  /** Path of the bundle. */
  readonly bundle: string;
  /** Name of the bundle's export. */
  readonly handler: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Longest invocation. */
  readonly timeoutSeconds: number;
  /** File for the function's output. */
  readonly logFile: string;
  readonly nodeOptions?: readonly string[];
}

export async function startFunction(options: FunctionProcess): Promise<MeasuredFunction> {
  const log = openSync(options.logFile, 'a');
  const { bundle, handler, timeoutSeconds } = options;
  const args = [bundle, handler, String(1000 * timeoutSeconds)];
  const child = fork(new URL('../processes/function-process.ts', import.meta.url), args, {
    execPath: pinnedNode(),
    execArgv: ['--disable-warning=ExperimentalWarning', ...(options.nodeOptions ?? [])],
    env: { ...options.environment },
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  const where = `${bundle}; its log is ${options.logFile}`;
  const waiting = new Map<number, (outcome: SeriesOutcome) => void>();
  const died = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => reject(new Error(`The process of ${where} ended: ${signal ?? code}`)));
  });
  died.catch(() => {});
  const announced = new Promise<Announcement>((resolve) =>
    child.once('message', (said) => resolve(said as Announcement)),
  );
  const said = await Promise.race([announced, died]);
  if ('failed' in said) throw new Error(`${said.failed}, in ${where}`);
  child.on('message', (message) => {
    const outcome = message as SeriesOutcome;
    waiting.get(outcome.id)?.(outcome);
    waiting.delete(outcome.id);
  });
  let last = 0;
  return {
    async run(events, warm_up = 0) {
      const series: Series = { id: ++last, warm_up, events: events.map((event) => JSON.stringify(event)) };
      const answered = new Promise<SeriesOutcome>((resolve) => waiting.set(series.id, resolve));
      child.send(series);
      const outcome = await Promise.race([answered, died]);
      if (outcome.error !== undefined) throw new Error(`${outcome.error}, in ${where}`);
      return outcome;
    },
    async kill() {
      child.kill('SIGKILL');
      await died.catch(() => {});
    },
    async stop() {
      if (child.connected) child.disconnect();
      await died.catch(() => {});
    },
  };
}

/**
 * Bundles a module with the settings of the functions.
 * @param entry relative to the project's root
 * @returns path of the bundle's entry; modules that it loads later are in the same directory
 */
export async function bundle(entry: string, directory: string, { minify = true } = {}): Promise<string> {
  const outdir = join(directory, entry.replaceAll(/[^\w-]+/g, '-'));
  await build({ ...BUNDLE_OPTIONS, minify, logLevel: 'silent', entryPoints: { index: entry }, outdir });
  return join(outdir, 'index.mjs');
}

export interface DeployedFunctions {
  readonly plan: LocalPlan;
  /** The folders under functions/ of all functions of the stack, sorted. */
  names(): string[];
  /** @param service folder under functions/ */
  planOf(service: string): FunctionPlan;
  /** Path of the function's bundle. */
  bundleOf(service: string): string;
}

/** @param sqsEndpoint base of the queue URLs; by default an address where nothing listens */
export function deployedFunctions(stack: SynthesizedStack, sqsEndpoint = 'http://127.0.0.1:9'): DeployedFunctions {
  const plan = planFrom(stack, { region: LOCAL_REGION, accountId: LOCAL_ACCOUNT, sqsEndpoint });
  const planOf = (service: string): FunctionPlan => {
    const found = plan.functions.find(({ environment }) => environment['POWERTOOLS_SERVICE_NAME'] === service);
    if (found === undefined) throw new Error(`The stack has no function whose service is ${service}`);
    return found;
  };
  return {
    plan,
    names: () => plan.functions.flatMap(({ environment }) => environment['POWERTOOLS_SERVICE_NAME'] ?? []).sort(),
    planOf,
    bundleOf(service) {
      const { codeDirectory, handler } = planOf(service);
      return join(codeDirectory, `${handler.split('.')[0]}.mjs`);
    },
  };
}

/** What a function's environment says. @throws Error where it lacks the variable */
export function variableOf({ name, environment }: FunctionPlan, variable: string): string {
  const value = environment[variable];
  if (value === undefined) throw new Error(`${name} has no ${variable} in its environment`);
  return value;
}

/** The deployed tables of notifications, from a channel function's environment. */
export function tableNames({ planOf }: Pick<DeployedFunctions, 'planOf'>) {
  const plan = planOf('send-webhook');
  return {
    notification_log: variableOf(plan, 'NOTIFICATION_LOG_TABLE'),
    notification_content: variableOf(plan, 'NOTIFICATION_CONTENT_TABLE'),
    notification_retry_log: variableOf(plan, 'NOTIFICATION_RETRY_LOG_TABLE'),
  };
}
