import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { LaneStatus } from '../../src/core/operator/views/pipeline-status.ts';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';

// Some commands run in a process of their own, which takes a second or more to start.
vi.setConfig({ testTimeout: 90_000 });
const flow = new Flow();
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

beforeAll(() => flow.start({ baseIntervalSeconds: 0.5 }), 180_000);
afterAll(() => flow.end(), 60_000);

describe('an operator', () => {
  it('finds the cause of a dead letter, redrives it, and it is delivered once', async () => {
    await flow.put([
      flow.webhook('o-dead', {
        recipient_address: flow.at('/webhook/flaky-1/o-dead'),
        max_retry_count: 0,
        send_status: 'PENDING',
      }),
      flow.webhook('o-ok'),
    ]);
    expect((await flow.job('--wait')).outcomes).toEqual({ SUCCESS: 1, FAILED: 1 });
    await eventually(async () => ((await flow.deadLetters('webhook')) === 1 ? true : undefined), 30_000);

    const lanes = await flow.opsJson<LaneStatus[]>('status');
    expect(lanes.filter(({ dead }) => dead > 0)).toMatchObject([
      { channel: 'webhook', lane: 'standard', dead: 1, due: 0 },
    ]);
    const { notifications } = await flow.opsJson<{ notifications: object[] }>('list', '--status', 'dead');
    expect(notifications).toMatchObject([{ log_id: 'o-dead', failure_reason: 'MAX_RETRIES' }]);
    const shown = await flow.opsProcess('show', 'o-dead', '--json');
    expect(JSON.parse(shown.stdout)).toMatchObject({
      notification: { log_id: 'o-dead', send_status: 'FAILED', state: 'dead' },
      attempts: [{ retry_attempt: 0, retry_status: 'FAILED', error_type: 'SERVER_OVERLOAD' }],
      remedy: expect.stringContaining('redrive'),
    });
    expect(shown.stdout).not.toContain('/webhook/flaky-1');
    expect(await flow.opsJson('dlq', 'list')).toMatchObject({ dead_letters: [{ log_id: 'o-dead', state: 'redrive' }] });

    expect(await flow.opsJson('dlq', 'redrive', '--channel', 'webhook', '--yes')).toEqual({ moved: 1 });
    await flow.until('o-dead', 'SUCCESS');
    expect(await flow.accepted('o-dead')).toBe(1);
    expect((await flow.row('o-dead'))['redrive_count']).toBe(1);
    expect(await flow.ops('dlq', 'redrive', '--channel', 'webhook', '--yes')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('is empty: there is nothing to redrive'),
    });
    expect(await flow.ops('retry', 'o-dead')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('delivered already'),
    });
  });

  it('corrects a wrong recipient, and the notification goes there, once, and not by an integration that its tenant has not', async () => {
    await flow.put([flow.webhook('c-wrong', { recipient_address: flow.at('/webhook/gone/c-wrong') })]);
    await flow.job('--wait');
    expect(await flow.row('c-wrong')).toMatchObject({ failure_reason: 'INVALID_RECIPIENT' });
    const correct = (...more: string[]) =>
      flow.opsInput(flow.at('/webhook/ok/c-wrong'), 'correct', 'c-wrong', '--recipient', '-', ...more);
    expect(await correct('--integration', 'nobodys')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--integration cannot be used'),
    });
    const corrected = await correct('--json');
    expect(JSON.parse(corrected.stdout)).toMatchObject({ log_id: 'c-wrong', result: 'queued' });
    expect(corrected.stdout).not.toContain('/webhook/ok');
    await flow.until('c-wrong', 'SUCCESS');
    expect(await flow.accepted('c-wrong')).toBe(1);
    const { attempts } = await flow.opsJson<{ attempts: object[] }>('show', 'c-wrong');
    expect(attempts).toMatchObject([{ retry_status: 'FAILED' }, { retry_status: 'SUCCESS', trigger: 'manual' }]);
  });

  it('finds a recipient’s notifications by its hash', async () => {
    const address = flow.at('/webhook/ok/o-ok');
    const found = await flow.opsJson<{ notifications: object[] }>(
      'list',
      '--tenant',
      'TENANT001',
      '--recipient',
      address,
    );
    expect(found.notifications).toMatchObject([{ log_id: 'o-ok', state: 'delivered' }]);
  });

  it('retries a waiting notification now, and cancels one for good', async () => {
    await flow.put([
      flow.webhook('w-1', { next_retry_at: inAnHour() }),
      flow.webhook('w-2', { next_retry_at: inAnHour() }),
    ]);
    const [lane] = (await flow.opsJson<LaneStatus[]>('status')).filter(({ waiting }) => waiting > 0);
    expect(lane).toMatchObject({ channel: 'webhook', waiting: 2 });
    expect(await flow.opsJson('cancel', 'w-2')).toEqual({ results: [{ log_id: 'w-2', result: 'cancelled' }] });
    expect(await flow.opsJson('retry', 'w-1', '--wait')).toEqual({
      results: [{ log_id: 'w-1', result: 'queued' }],
      outcomes: { SUCCESS: 1 },
    });
    expect(await flow.row('w-2')).toMatchObject({ send_status: 'FAILED', failure_reason: 'CANCELLED' });
    expect(await flow.job('--wait')).toMatchObject({ due: 0 });
    expect(await flow.job('--force-retry', '--wait')).toMatchObject({ due: 0 });
    expect(await flow.accepted('w-2')).toBe(0);
  });

  it('replays the dead, also when the command is killed: none is skipped, none is repeated', async () => {
    const ids = Array.from({ length: 40 }, (_, i) => `r-${i}`);
    await flow.put([
      ...ids.map((log_id) =>
        flow.webhook(log_id, {
          recipient_address: flow.at(`/webhook/flaky-1/${log_id}`),
          max_retry_count: 0,
          send_status: 'PENDING',
          tenant_id: 'REPLAYED',
        }),
      ),
      flow.webhook('r-gone', { recipient_address: flow.at('/webhook/gone'), tenant_id: 'REPLAYED' }),
    ]);
    expect((await flow.job('--wait', '--tenant=REPLAYED')).outcomes).toEqual({ FAILED: 41 });
    const args = ['replay', '--tenant', 'REPLAYED', '--rate', '10'];
    expect(await flow.opsJson(...args, '--dry-run')).toMatchObject({
      matched: 41,
      excluded: { INVALID_RECIPIENT: 1 },
      sent: 0,
      to_send: 40,
    });

    const child = flow.startOps(...args, '--yes', '--json');
    const ended = new Promise((resolve) => child.once('close', resolve));
    const rows = () => Promise.all(ids.map((log_id) => flow.row(log_id)));
    // Its process alone may take many seconds to start beside other work.
    await eventually(async () => ((await rows()).some((one) => one['replay_id']) ? true : undefined), 60_000);
    child.kill('SIGKILL');
    await ended;
    const sent = (await rows()).filter((one) => one['replay_id']).length;
    expect(sent).toBeLessThan(40);

    const again = await flow.opsJson<{ sent: number; matched: number }>(...args, '--yes');
    expect(again).toMatchObject({ sent: 40 - sent, excluded: { INVALID_RECIPIENT: 1 } });
    // A notification that was revived without a message is due, and the sweep queues it.
    await flow.job('--wait', '--tenant=REPLAYED');
    for (const log_id of ids) await flow.until(log_id, 'SUCCESS');
    const counts = await Promise.all(ids.map((one) => flow.accepted(one)));
    expect(counts.every((count) => count === 1)).toBe(true);
    expect(await flow.opsJson(...args, '--dry-run')).toMatchObject({ to_send: 0 });
  }, 180_000);

  it('gets messages that say what to do when something is wrong', async () => {
    expect(await flow.ops('show', 'nobody')).toMatchObject({ code: 1, stderr: expect.stringContaining('ops -- list') });
    expect(await flow.opsProcess('status', '--now')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("unknown option '--now'"),
    });
  });
});
