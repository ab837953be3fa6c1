import { showStep } from '../runtime/output.ts';
import type { LocalRuntime } from '../runtime/runtime.ts';
import { putSamples } from './put-samples.ts';

/** Enough samples that every channel has every outcome. */
export const SAMPLE_COUNT = 240;

/**
 * Puts the sample data, unless there is data already, and runs one sweep.
 * @throws Error with the dispatcher's own message when the sweep failed
 */
export async function firstRun(runtime: LocalRuntime): Promise<void> {
  const count = await putSamples(runtime.endpoints, SAMPLE_COUNT);
  if (count > 0) showStep(`${count} sample failures put into ${runtime.endpoints.tables.notification_log}`);
  const dispatcher = runtime.endpoints.functions['dispatcher'];
  if (dispatcher === undefined) throw new Error('The stack has no function of the service dispatcher');
  const swept = await runtime.invoke(dispatcher, '{}');
  if (swept === undefined) throw new Error(`There is no function ${dispatcher}`);
  if (!swept.ok) throw new Error(`The first sweep failed: ${swept.error.errorType}: ${swept.error.errorMessage}`);
  const { dispatched } = JSON.parse(swept.result) as { dispatched: number };
  showStep(`first sweep: ${dispatched} notifications on their way`);
}
