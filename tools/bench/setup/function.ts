import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { SQSBatchResponse } from 'aws-lambda';
import { type BuildOptions, build } from 'esbuild';
import { BUNDLE_OPTIONS } from '../../../lib/constructs/function/function-bundle.ts';
import { heapLimit, Sandbox } from '../../../src/local/emulator/lambda/sandbox.ts';
import type { SynthesizedStack } from '../../../src/local/emulator/template/assembly.ts';
import { type FunctionPlan, planFrom } from '../../../src/local/emulator/template/plan.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from '../../../src/local/emulator/template/references.ts';

/** What a function needed for a series of events. */
export interface Work {
  /** The result of every event, in order. */
  readonly results: readonly unknown[];
  /** Microseconds of CPU: user and system, all threads. */
  readonly cpu_us: number;
  /** Milliseconds from call to answer for each event, in order. */
  readonly times_ms: readonly number[];
}

export type MeasuredFunction = ReturnType<typeof startFunction>;

export interface ProcessOptions {
  /** A bundle in place of the deployed one, with an export `handler`. */
  readonly bundle?: string;
  readonly nodeOptions?: readonly string[];
  /** Whether the heap is as small as on Lambda. */
  readonly heapLimited?: boolean;
}

/** Benchmarks wait for answers on purpose, longer than a function's own time-out. */
const LEAST_TIMEOUT_SECONDS = 60;

/** A function in its own process, as the local runtime starts it. @param logFile for its output */
export function startFunction(
  plan: FunctionPlan,
  environment: Readonly<Record<string, string>>,
  logFile: string,
  { bundle, nodeOptions = [], heapLimited = false }: ProcessOptions,
) {
  const started = new Sandbox(
    {
      ...plan,
      timeoutSeconds: Math.max(LEAST_TIMEOUT_SECONDS, plan.timeoutSeconds),
      ...(bundle && { codeDirectory: dirname(bundle), handler: `${basename(bundle, '.mjs')}.handler` }),
    },
    // Figures are those of a process that compiles its code, as on Lambda.
    { ...environment, NODE_DISABLE_COMPILE_CACHE: '1' },
    logFile,
    [...nodeOptions, ...(heapLimited ? [heapLimit(plan)] : [])],
  );
  return {
    /**
     * Handles the events one after the other.
     * @throws Error with the function's error, or with the way its process ended
     */
    async run(events: readonly unknown[]): Promise<Work> {
      const results: unknown[] = [];
      const times_ms: number[] = [];
      // What is done between two events counts, too.
      let before: number | undefined;
      for (const event of events) {
        const began = performance.now();
        const outcome = await started.invoke(randomUUID(), JSON.stringify(event));
        if (!outcome.ok) {
          const { errorType, errorMessage } = outcome.error;
          throw new Error(`${errorType}: ${errorMessage}, in ${bundle ?? plan.name}; its log is ${logFile}`);
        }
        times_ms.push(performance.now() - began);
        results.push(JSON.parse(outcome.result));
        before ??= started.cpu_us[0];
      }
      const after = started.cpu_us[1];
      return { results, cpu_us: after - (before ?? after), times_ms };
    },
    /** Megabytes of resident memory at its peak, and of what is swapped out now, together. Linux only. */
    memory(): number {
      const status = readFileSync(`/proc/${started.pid}/status`, 'utf8');
      const megabytes = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
      return megabytes('VmHWM') + megabytes('VmSwap');
    },
    process: started,
    stop: () => started.end(),
  };
}

/**
 * Bundles a module with the settings of the functions.
 * @param entry relative to the project's root
 * @returns path of the bundle's entry; modules that it loads later are in the same directory
 */
export async function bundle(entry: string, directory: string, options: BuildOptions = {}): Promise<string> {
  const outdir = join(directory, entry.replaceAll(/[^\w-]+/g, '-'));
  await build({ ...BUNDLE_OPTIONS, logLevel: 'silent', ...options, entryPoints: { index: entry }, outdir });
  return join(outdir, 'index.mjs');
}

/** Bundles a module of the plain reading, for which nothing stands for Node's modules. @param name of its file */
export function bundlePlain(name: string, directory: string): Promise<string> {
  return bundle(`tools/bench/plain/${name}.ts`, directory, { alias: {} });
}

export type DeployedFunctions = ReturnType<typeof deployedFunctions>;

/**
 * The functions of the stack, each by its folder under functions/.
 * @param sqsEndpoint base of the queue URLs; by default an address where nothing listens
 */
export function deployedFunctions(stack: SynthesizedStack, sqsEndpoint = 'http://127.0.0.1:9') {
  const plan = planFrom(stack, { region: LOCAL_REGION, accountId: LOCAL_ACCOUNT, sqsEndpoint });
  const planOf = (service: string): FunctionPlan => {
    const found = plan.functions.find(({ environment }) => environment['POWERTOOLS_SERVICE_NAME'] === service);
    if (found === undefined) throw new Error(`The stack has no function whose service is ${service}`);
    return found;
  };
  return {
    plan,
    names: plan.functions.flatMap(({ environment }) => environment['POWERTOOLS_SERVICE_NAME'] ?? []).sort(),
    planOf,
    /** Path of the function's bundle. */
    bundleOf(service: string): string {
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

/** @throws Error when the handler reported a message as failed, because a delivery was to be measured */
export function expectNoFailures(results: readonly unknown[]): void {
  const failed = results.flatMap((result) => (result as SQSBatchResponse | null)?.batchItemFailures ?? []);
  if (failed.length > 0) throw new Error(`${failed.length} messages came back; the function's log says why`);
}
