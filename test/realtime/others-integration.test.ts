import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CHANNELS, type Channel } from '../../src/core/model/channels.ts';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';

/** Rows of another tenant. */
const OTHERS = 300;
const OWNERS = 12;

const flow = new Flow();
beforeAll(async () => {
  await flow.start();
  const { endpoints, secrets_file } = flow.endpoints;
  const owned = { tenant_id: 'A' };
  const secrets = JSON.parse(readFileSync(secrets_file, 'utf8'));
  const integrations = {
    'of-a-email': owned,
    'of-a-slack': { token: 'xoxb-local', ...owned },
    'of-a-teams': { webhook_url: `${endpoints.simulator}/teams/ok`, ...owned },
    'of-a-webhook': { secrets: [`whsec_${Buffer.alloc(24, 'a').toString('base64')}`], ...owned },
    'of-b-email': { tenant_id: 'B' },
    'of-b-slack': { token: 'xoxb-local', tenant_id: 'B' },
    'of-b-teams': { webhook_url: `${endpoints.simulator}/teams/ok`, tenant_id: 'B' },
    'of-all-signing': { secrets: [`whsec_${Buffer.alloc(24, 'c').toString('base64')}`], tenant_id: '*' },
    'of-all-teams': { webhook_url: `${endpoints.simulator}/teams/ok`, tenant_id: '*' },
    'of-b-webhook': { secrets: [`whsec_${Buffer.alloc(24, 'b').toString('base64')}`], tenant_id: 'B' },
  };
  writeFileSync(
    secrets_file,
    JSON.stringify({ ...secrets, integrations: { ...secrets.integrations, ...integrations } }),
  );
}, 180_000);
afterAll(() => flow.end(), 60_000);

type Row = Readonly<Record<string, unknown>>;

function rows(
  name: string,
  tenant_id: string,
  channel: Channel,
  count: number,
  integration = `of-a-${channel}`,
): (Row & { log_id: string })[] {
  const { simulator } = flow.endpoints.endpoints;
  return Array.from({ length: count }, (_, i) => {
    const log_id = `${name}-${channel}-${i}`;
    const addresses: Record<Channel, string> = {
      email: `ok+${i}@example.com`,
      slack: `#ok-${i}`,
      teams: `${simulator}/teams/ok/${i}`,
      webhook: `${simulator}/webhook/ok/${i}`,
    };
    return {
      log_id,
      tenant_id,
      notification_type: channel.toUpperCase(),
      priority: 'urgent',
      message_body: log_id,
      recipient_address: addresses[channel],
      integration_config_id: integration,
      send_status: 'FAILED',
      send_attempts: 1,
      ...(channel === 'email' && { subject: log_id }),
    };
  });
}

async function all(
  given: readonly { readonly log_id: string }[],
  isSo: (row: Row) => boolean,
): Promise<readonly Row[]> {
  const ids = new Set(given.map(({ log_id }) => log_id));
  return eventually(async () => {
    await setTimeout(200);
    const found = (await flow.rows()).filter(({ log_id }) => ids.has(String(log_id)));
    return found.length === ids.size && found.every(isSo) ? found : undefined;
  }, 120_000);
}

/** Milliseconds from the sweep until the owner's messages are sent, the median, with others' rows before them. */
async function median(channel: Channel, name: string, others: readonly (Row & { log_id: string })[]): Promise<number> {
  const own = rows(name, 'A', channel, OWNERS);
  await flow.put(others);
  await all(others, ({ work_queue }) => work_queue !== undefined);
  await flow.put(own);
  await all(own, ({ work_queue }) => work_queue !== undefined);
  const swept = Date.now();
  await flow.job();
  const delivered = await all(own, ({ send_status }) => send_status === 'SUCCESS');
  const times = delivered.map(({ sent_at }) => Date.parse(String(sent_at)) - swept).sort((a, b) => a - b);
  return times[OWNERS / 2] ?? Number.POSITIVE_INFINITY;
}

it.each(CHANNELS)(
  'delays what is urgent on %s by less than a second beside 300 rows of another tenant, whosever integration they name',
  async (channel) => {
    await median(channel, 'warm', []);
    const alone = await median(channel, 'alone', []);
    const neighbours = rows('neighbour', 'B', channel, OTHERS, `of-b-${channel}`);
    const beside_neighbours = await median(channel, 'beside-neighbours', neighbours);
    await all(neighbours, ({ send_status }) => send_status === 'SUCCESS');
    const strangers = rows('stranger', 'B', channel, OTHERS);
    const beside_strangers = await median(channel, 'beside-strangers', strangers);
    await all(strangers, ({ failure_reason }) => failure_reason !== undefined);
    console.log(JSON.stringify({ channel, alone, beside_neighbours, beside_strangers }));
    expect(beside_strangers - alone).toBeLessThan(1_000);
    expect(beside_neighbours - alone).toBeLessThan(1_000);
  },
  240_000,
);

it('holds nothing of a tenant whose endpoint is well while the one of another, through the same integration of all, is down', async () => {
  const down = rows('down', 'B', 'webhook', 60, 'of-all-signing').map((row, i) => ({
    ...row,
    recipient_address: `${flow.endpoints.endpoints.simulator}/webhook/status-503/${i % 2}`,
  }));
  await flow.put(down);
  await all(down, ({ work_queue }) => work_queue !== undefined);
  await flow.job();
  await all(down, ({ error_type }) => error_type === 'SERVER_OVERLOAD');
  const [held] = await all(down.slice(-1), ({ error_type }) => error_type === 'SERVER_OVERLOAD');
  expect(held).toMatchObject({ send_status: 'RETRY' });
  const well = rows('well', 'A', 'webhook', 5, 'of-all-signing');
  await flow.put(well);
  await all(well, ({ work_queue }) => work_queue !== undefined);
  const swept = Date.now();
  await flow.job();
  const delivered = await all(well, ({ send_status }) => send_status === 'SUCCESS');
  const last = Math.max(...delivered.map(({ sent_at }) => Date.parse(String(sent_at)) - swept));
  console.log(JSON.stringify({ beside_an_endpoint_that_is_down: last }));
  expect(last).toBeLessThan(5_000);
}, 180_000);

it('sends what is urgent within ten seconds beside 300 urgent ones of another tenant through the same integration', async () => {
  const flood = rows('flood', 'B', 'teams', OTHERS, 'of-all-teams');
  await flow.put(flood);
  await all(flood, ({ work_queue }) => work_queue !== undefined);
  await flow.job();
  await all(flood, ({ last_attempt }) => Number(last_attempt) > 0);
  const own = rows('beside-flood', 'A', 'teams', 1, 'of-all-teams');
  await flow.put(own);
  await all(own, ({ work_queue }) => work_queue !== undefined);
  const swept = Date.now();
  await flow.job();
  const [sent] = await all(own, ({ send_status }) => send_status === 'SUCCESS');
  const waited = Date.parse(String(sent?.['sent_at'])) - swept;
  console.log(JSON.stringify({ beside_a_flood: waited }));
  expect(waited).toBeLessThan(10_000);
}, 180_000);
