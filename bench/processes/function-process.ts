import { existsSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { serveParent } from '../../src/local/processes/serve-parent.ts';

/**
 * A function's process that measures itself: `function-process.ts BUNDLE EXPORT INVOCATION_MS`. Plain `node` runs this file, so its
 * imports must need no build either. It handles the events of a series one after the other, as a Lambda sandbox does.
 */

export interface Series {
  readonly id: number;
  /** Number of events before the measurement starts. */
  readonly warm_up: number;
  /** JSON texts. */
  readonly events: readonly string[];
}

export interface SeriesOutcome {
  readonly id: number;
  /** The result of every event, in order. */
  readonly results: readonly unknown[];
  readonly error?: string;
  /** Microseconds of CPU for the events after the warm-up: user and system, all threads. */
  readonly cpu_us: number;
  /** Milliseconds from call to answer for each event after the warm-up, in order. */
  readonly times_ms: readonly number[];
  /** Peak of the process's resident memory, in bytes. */
  readonly peak_rss: number;
  /** Memory that is swapped out now, in bytes; 0 where the system does not report it. */
  readonly swapped: number;
}

type Handler = (event: unknown, context: object) => unknown;

const [bundle = '', name = '', invocationMs = ''] = process.argv.slice(2);
/** The longest invocation: functions stop their work before. */
const INVOCATION_MS = Number(invocationMs);

await serveParent(async () => {
  const loaded = await import(pathToFileURL(bundle).href);
  const handler = loaded[name];
  if (typeof handler !== 'function') throw new Error(`${bundle} exports no function ${name}`);
  process.on('message', async (message) => process.send?.(await runSeries(handler, message as Series)));
  return {};
});

async function runSeries(handler: Handler, { id, warm_up, events }: Series): Promise<SeriesOutcome> {
  const results: unknown[] = [];
  const times_ms: number[] = [];
  let before = process.cpuUsage();
  try {
    for (const [index, event] of events.entries()) {
      if (index === warm_up) before = process.cpuUsage();
      const started = performance.now();
      results.push(await handler(JSON.parse(event), contextOf(`${id}-${index}`)));
      if (index >= warm_up) times_ms.push(performance.now() - started);
    }
  } catch (error) {
    const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return { id, results, error: what, cpu_us: Number.NaN, times_ms, ...memory() };
  }
  const { user, system } = process.cpuUsage(before);
  return { id, results, cpu_us: user + system, times_ms, ...memory() };
}

function contextOf(awsRequestId: string): object {
  const deadline = Date.now() + INVOCATION_MS;
  const functionName = process.env['AWS_LAMBDA_FUNCTION_NAME'] ?? 'bench';
  return {
    awsRequestId,
    functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: `arn:aws:lambda:us-east-1:000000000000:function:${functionName}`,
    memoryLimitInMB: process.env['AWS_LAMBDA_FUNCTION_MEMORY_SIZE'] ?? '256',
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
  };
}

/** Prefers the kernel's peak, because resourceUsage().maxRSS of a forked process starts with its parent's value. */
function memory(): Pick<SeriesOutcome, 'peak_rss' | 'swapped'> {
  const status = existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '';
  const kilobytes = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]);
  const peak = kilobytes('VmHWM') || process.resourceUsage().maxRSS;
  return { peak_rss: peak * 1024, swapped: (kilobytes('VmSwap') || 0) * 1024 };
}
