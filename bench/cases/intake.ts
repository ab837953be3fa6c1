import type { Benchmark } from '../benchmark.ts';
import type { Measurement } from '../figure.ts';
import { tableNames } from '../setup/function.ts';
import { startMeter } from '../setup/meter.ts';
import { bodyOf } from '../setup/rows.ts';
import { inWorld, type World } from '../setup/world.ts';

const REQUESTS = 200;
const TIMED = 600;
const WARM_UP = 100;

/** Write units of a notification's handover to the API, and the time that the function takes. */
export const intake: Benchmark = {
  name: 'intake',
  describes: 'write units and time of handing a notification over to the API',
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
      const timed = world.start('api-intake');
      context.step(`intake: ${TIMED} notifications, timed`);
      const { results, times_ms, cpu_us } = await timed.run(requests(world, 'time', WARM_UP + TIMED, 1), WARM_UP);
      expectAccepted(results);
      const sorted = [...times_ms].sort((a, b) => a - b);
      const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
      measured.push({
        id: 'intake.p99_ms',
        what: "p99 of the intake function's own time, one after the other",
        figure: at(0.99),
        unit: 'ms',
        budget: { max: 200 },
        note: 'storage and queue are stand-ins on this machine',
        details: { 'p50 ms': at(0.5), 'CPU ms': cpu_us / TIMED / 1000 },
      });
      return measured;
    }),
};

/** Events in the form of API Gateway. */
function requests({ receiver }: World, name: string, count: number, kilobytes: number): object[] {
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
