import type { Item } from '../../src/adapters/dynamodb/table/item.ts';
import { SAMPLE_INTEGRATIONS } from '../../src/local/runtime/secrets-file.ts';
import { bodyOf } from './body.ts';
import type { MeasuredFunction } from './function.ts';
import { eventsFor, expectNoFailures } from './lambda-poller.ts';
import { standardLane } from './lane-queue.ts';
import { putAll, seedDue } from './rows.ts';
import { tableNames } from './table-names.ts';
import type { World } from './world.ts';

/** Size of the function's batches. */
export const BATCH = 10;

/** Conditions under which webhooks are delivered. */
export interface Conditions {
  readonly name: string;
  /** The receiver's path. */
  readonly path: '/ok' | '/slow/ok' | '/flaky/ok';
  readonly tenants: number;
}

/** Due notifications that can be delivered again and again. */
export interface WebhookPasses {
  readonly items: readonly Item[];
  /**
   * Makes the rows due again and delivers them. What the receiver refused is made due, and delivered, once more.
   * @returns milliseconds of CPU per delivered notification
   * @throws Error when the receiver did not get what it should
   */
  run(fn: MeasuredFunction): Promise<number>;
}

export const KILOBYTE = 1024;

export async function webhookPasses(world: World, count: number, conditions: Conditions): Promise<WebhookPasses> {
  const items = await seedDue(world, count, {
    channel: 'webhook',
    recipient: `${world.receiver.url}${conditions.path}`,
    body: bodyOf(KILOBYTE),
    integration: SAMPLE_INTEGRATIONS.webhook,
    tenants: conditions.tenants,
  });
  const { arn } = standardLane(world, 'send-webhook');
  const table = tableNames(world).notification_log;
  const deliver = async (fn: MeasuredFunction, due: readonly Item[]) => {
    await putAll(world, table, due);
    const before = world.receiver.count();
    const { results, cpu_us } = await fn.run(eventsFor(due, arn, BATCH));
    expectNoFailures(results);
    const sent = world.receiver.count() - before;
    if (sent !== due.length) throw new Error(`${conditions.name}: ${sent} posts were received, ${due.length} expected`);
    return cpu_us;
  };
  return {
    items,
    async run(fn) {
      const first = await deliver(fn, items);
      const refused = world.receiver.takeRefused();
      const again = await deliver(
        fn,
        items.filter(({ log_id }) => refused.has(log_id?.S ?? '')),
      );
      const twice = world.receiver.takeRefused().size;
      if (twice > 0) throw new Error(`${conditions.name}: ${twice} were refused at their second try, too`);
      return (first + again) / 1000 / items.length;
    },
  };
}
