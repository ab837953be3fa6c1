import type { Benchmark } from '../benchmark.ts';
import type { Measurement } from '../figure.ts';
import { tableNames } from '../setup/function.ts';
import { startMeter } from '../setup/meter.ts';
import { bodyOf } from '../setup/rows.ts';
import { inWorld, type World } from '../setup/world.ts';

const REQUESTS = 200;

/** Write units of a notification's handover to the API. */
export const intake: Benchmark = {
  name: 'intake',
  describes: 'write units of handing a notification over to the API',
  run: (context) =>
    inWorld(context, async (world) => {
      const meter = await startMeter(world, 'dynamodb');
      const metered = world.start('api-intake', { services: { dynamodb: meter.url } });
      const content = tableNames(world).notification_content;
      const measured: Measurement[] = [];
      // Writes the tenant's data key, once a month.
      expectAccepted((await metered.run(requests(world, 'first', 1, 1))).results);
      for (const kilobytes of [1, 100]) {
        context.step(`intake: ${REQUESTS} notifications of ${kilobytes} KB`);
        meter.read();
        const { results } = await metered.run(requests(world, `cost-${kilobytes}`, REQUESTS, kilobytes));
        expectAccepted(results);
        const { write_units, written } = meter.read();
        measured.push({
          id: `intake.write_units.${kilobytes}kb`,
          what: `writes to hand over a notification of ${kilobytes} KB, its content aside`,
          figure: (write_units - (written[content] ?? 0)) / REQUESTS,
          unit: 'WU',
          budget: { max: 4 },
          note: 'row, work index, history index, notification index',
          details: { 'WU of the content': (written[content] ?? 0) / REQUESTS },
        });
      }
      return measured;
    }),
};

/** Events in the form of API Gateway. */
export function requests({ receiver }: World, name: string, count: number, kilobytes: number): object[] {
  const lambda = { tenant_id: 'TENANT001', key_id: 'bench', scopes: 'send', rate_limit: '1000000' };
  return Array.from({ length: count }, (_, i) => ({
    version: '2.0',
    routeKey: 'POST /v1/notifications',
    rawPath: '/v1/notifications',
    rawQueryString: '',
    headers: { 'idempotency-key': `${name}-${i}` },
    requestContext: { http: { method: 'POST' }, authorizer: { lambda } },
    isBase64Encoded: false,
    body: JSON.stringify({
      channel: 'webhook',
      recipient: `${receiver.url}/ok`,
      body: bodyOf(kilobytes * 1024),
      notification_id: `NOTIF-${name}-${i}`,
      integration_config_id: 'IC-1',
    }),
  }));
}

function expectAccepted(results: readonly unknown[]): void {
  const refused = results.find((result) => Object(result).statusCode !== 202);
  if (refused !== undefined) throw new Error(`A notification was not accepted: ${JSON.stringify(refused)}`);
}
