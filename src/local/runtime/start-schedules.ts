import { startSchedule, type Timing, timedSchedules } from '../emulator/events/schedule.ts';
import type { InvokeByName } from '../emulator/lambda/invocation.ts';
import type { LocalPlan } from '../emulator/template/plan.ts';
import type { Teardown } from '../processes/teardown.ts';
import type { Log } from '../support/log.ts';

/** @param sweep replaces the template's schedule of the sweep */
export function startSchedules(
  plan: LocalPlan,
  sweep: Timing | 'off' | undefined,
  { invoke, log, teardown }: { readonly invoke: InvokeByName; readonly log: Log; readonly teardown: Teardown },
): void {
  for (const { schedule, timing } of timedSchedules(plan, sweep)) {
    const stop = startSchedule(schedule, timing, async (name, event) => {
      const result = await invoke(name, event);
      if (result !== undefined && !result.ok) log(`${name}, scheduled: ${result.error.errorMessage}`);
    });
    teardown.add('schedule', async () => stop());
  }
}
