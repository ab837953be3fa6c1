import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Deployment } from '../../src/adapters/deployment/deployment.ts';
import { LACKS, newsletterQueues, ofStage, tablesOf } from '../../src/adapters/deployment/stage-parts.ts';
import { CHANNELS } from '../../src/core/model/channels.ts';
import { type Operations, startOperations, storedRow } from '../support/cli/operations.ts';
import { startTestConsole } from '../support/console.ts';

let ops: Operations;
/** The least stage, on the same tables and queues. */
let least: Deployment;
beforeAll(async () => {
  ops = await startOperations();
  const { tables, lane_queues, dead_letter_queues } = ops.deployment;
  const { api_keys: _, newsletters: __, members: ___, emails: ____, ...rest } = tables;
  const { email_batches: _____, email_recipients: ______, ...kept } = rest;
  least = {
    ...ops.deployment,
    tables: tablesOf(kept),
    lane_queues: { webhook: lane_queues.webhook },
    dead_letter_queues: ofStage(CHANNELS, { webhook: dead_letter_queues.webhook }, LACKS.channel),
    newsletter_queues: newsletterQueues(undefined),
  };
});
afterAll(() => ops.stop());

const run = (...args: string[]) => ops.run([...args, '--local'], { findDeployment: async () => least });

describe('a command on a stage without the part that it needs', () => {
  it.each([
    ['newsletters', ['members', 'show', 'M1', '--tenant', 'T1']],
    ['newsletters', ['emails', 'list', '--tenant', 'T1']],
    ['newsletters', ['emails', 'status', 'EM1']],
    ['API, and thus no keys', ['keys', 'list']],
    ['API, and thus no keys', ['keys', 'create', '--tenant', 'T1', '--scope', 'send']],
    ['channel teams', ['dlq', 'list', '--channel', 'teams']],
    ['channel teams', ['dlq', 'redrive', '--channel', 'teams', '--yes']],
    ['channel teams', ['dlq', 'drop', '--channel', 'teams', '--all', '--yes']],
  ])('says in one sentence that there is no %s: ops %j', async (part, args) => {
    const { code, out, err } = await run(...args);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err.trim().split('\n')).toEqual([
      expect.stringContaining(`This stage has no ${part}: docs/reference/configuration.md says how a stage gets it.`),
    ]);
  });
});

describe('a command on the least stage', () => {
  it('counts the lanes that are there', async () => {
    const { code, out } = await run('status', '--json');
    expect({ code, lanes: JSON.parse(out).map((one: object) => Object.values(one).slice(0, 2).join('-')) }).toEqual({
      code: 0,
      lanes: ['webhook-express', 'webhook-standard'],
    });
  });

  it('lists the dead letters of the channels that are there', async () => {
    expect(await run('dlq', 'list')).toMatchObject({ code: 0 });
  });

  it('retries what it has', async () => {
    await ops.put(storedRow('n-1', { channel: 'webhook', tenant_id: 'tenant-1' }));
    expect(await run('retry', 'n-1')).toMatchObject({ code: 0 });
    expect((await ops.take('webhook', 'standard')).map(({ log_id }) => log_id)).toEqual(['n-1']);
  });
});

describe('the console on the least stage', () => {
  it('answers what is there, and says in one sentence what is not', async () => {
    const page = await startTestConsole({ ...ops, deployment: least });
    const { channels } = await page.ok('GET /api/overview');
    expect(channels.find(({ channel }) => channel === 'webhook')).toMatchObject({ in_flight: 0 });
    for (const [route, lacks] of [
      ['GET /api/newsletters', LACKS.newsletters],
      ['GET /api/emails', LACKS.newsletters],
      ['GET /api/keys', LACKS.api],
    ] as const) {
      const { status, body } = await page.call(route, { query: { tenant: 'T1' } });
      expect({ route, status, body }).toMatchObject({ status: 404, body: { detail: lacks } });
    }
    expect(page.faults).toEqual([]);
    await page.stop();
  });
});
