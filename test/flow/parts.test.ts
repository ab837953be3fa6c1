import { afterEach, describe, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';

let flow: Flow;
const start = async (parts: 'least' | 'default' | 'without-newsletters') => {
  flow = new Flow();
  await flow.start({ parts, baseIntervalSeconds: 0.5 });
};
afterEach(async () => {
  await flow?.stop();
  flow?.remove();
}, 60_000);

const foreign = (log_id: string, notification_type: string, recipient_address: string, changes: object = {}) => ({
  log_id,
  tenant_id: 'T1',
  notification_type,
  recipient_address,
  message_body: log_id,
  send_status: 'FAILED',
  ...changes,
});
const indexed = (log_id: string) =>
  eventually(async () => ((await flow.row(log_id))['send_status'] === undefined ? undefined : true), 30_000);
const consoleAnswer = async (path: string) => {
  const answer = await fetch(new URL(path, flow.endpoints.endpoints.console));
  return { status: answer.status, body: await answer.json() };
};

/**
 * Opt-in by `WITH_PARTS=1`, because each stage is bundled anew, which `npm test` has no time for. A stage with everything is
 * the matter of the other files.
 */
describe.skipIf(!process.env['WITH_PARTS'])('a stage with fewer parts', () => {
  it('retries webhooks with the least, and sets aside what has no channel', async () => {
    await start('least');
    expect(Object.keys(flow.endpoints.functions).sort()).toEqual([
      'dispatcher',
      'due-indexer',
      'reconciler',
      'send-webhook',
    ]);
    await flow.put([
      foreign('p-ok', 'WEBHOOK', flow.at('/webhook/ok/p')),
      foreign('p-flaky', 'WEBHOOK', flow.at('/webhook/flaky-1/p'), { send_status: 'PENDING' }),
      foreign('p-dead', 'WEBHOOK', flow.at('/webhook/flaky-1/q'), { send_status: 'PENDING', max_retry_count: 0 }),
      foreign('p-mail', 'EMAIL', 'somebody@example.com', { subject: 'Hi' }),
    ]);
    await eventually(async () => (await flow.row('p-mail'))['failure_reason'], 30_000);
    for (const log_id of ['p-ok', 'p-flaky', 'p-dead']) await indexed(log_id);
    await flow.job('--wait');
    await eventually(async () => ((await flow.row('p-flaky'))['send_status'] === 'SUCCESS' ? true : undefined), 30_000);
    expect(await flow.row('p-ok')).toMatchObject({ send_status: 'SUCCESS' });
    expect((await flow.row('p-mail'))['error_message']).toContain('channels of the stage: expected one of webhook');
    await eventually(async () => ((await flow.deadLetters('webhook')) === 1 ? true : undefined), 30_000);

    // Redriven by an operator, who asks for nothing that is not there.
    expect(await flow.opsJson('dlq', 'redrive', '--channel', 'webhook', '--yes')).toEqual({ moved: 1 });
    await eventually(async () => ((await flow.row('p-dead'))['send_status'] === 'SUCCESS' ? true : undefined), 30_000);
    expect(await flow.opsJson('status')).toMatchObject([{ channel: 'webhook' }, { channel: 'webhook' }]);
    for (const command of [
      ['keys', 'list'],
      ['emails', 'list', '--tenant', 'T1'],
      ['dlq', 'list', '--channel', 'slack'],
    ]) {
      expect(await flow.ops(...command)).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^✗ This stage has no [^\n]+\n$/),
      });
    }
    expect(await consoleAnswer('/api/session')).toMatchObject({ body: { lacks: ['newsletters', 'keys'] } });
    expect(await consoleAnswer('/api/overview')).toMatchObject({ status: 200 });
    expect(await consoleAnswer('/api/newsletters')).toMatchObject({ status: 404 });
    expect((await fetch(`${flow.endpoints.endpoints.api}/v1/openapi.json`)).status).toBe(404);
  }, 240_000);

  it('has all commands and screens by default, with fewer alarms', async () => {
    await start('default');
    await flow.put([foreign('p-default', 'WEBHOOK', flow.at('/webhook/ok/d'))]);
    await indexed('p-default');
    expect((await flow.job('--wait')).outcomes).toEqual({ SUCCESS: 1 });
    expect((await consoleAnswer('/api/session')).body).not.toHaveProperty('lacks');
    expect(await flow.ops('keys', 'list')).toMatchObject({ code: 0 });
    expect(await flow.ops('emails', 'list', '--tenant', 'T1')).toMatchObject({ code: 0 });
  }, 240_000);

  it('takes notifications by the API without newsletters, and offers none', async () => {
    await start('without-newsletters');
    const { api } = flow.endpoints.endpoints;
    const made = ['keys', 'create', '--tenant', 'T1', '--scope', 'send', '--scope', 'read'];
    const { key } = await flow.opsJson<{ key: string }>(...made);
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': 'p-1' };
    const posted = await fetch(`${api}/v1/notifications`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ channel: 'email', recipient: 'ok@example.com', subject: 'Hi', body: 'Hello' }),
    });
    expect(posted.status).toBe(202);
    const { log_id } = (await posted.json()) as { log_id: string };
    await eventually(async () => ((await flow.row(log_id))['send_status'] === 'SUCCESS' ? true : undefined), 30_000);

    const { paths } = (await (await fetch(`${api}/v1/openapi.json`)).json()) as { paths: object };
    expect(Object.keys(paths).filter((path) => !/^\/v1\/(notifications|tokens|openapi)/.test(path))).toEqual([]);
    expect(await fetch(`${api}/v1/newsletters`, { headers })).toMatchObject({ status: 404 });
    expect(await consoleAnswer('/api/session')).toMatchObject({ body: { lacks: ['newsletters'] } });
    expect(await flow.ops('emails', 'list', '--tenant', 'T1')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('This stage has no newsletters'),
    });
  }, 240_000);
});
