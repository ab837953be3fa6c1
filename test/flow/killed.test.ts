import { setTimeout } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';

const flow = new Flow();
afterAll(async () => {
  await flow.stop();
  flow.remove();
}, 60_000);

describe('a runtime that is killed', () => {
  it('loses nothing: after a restart every notification reaches its final state', async () => {
    const settings = { dataDir: `${flow.directory}/data`, baseIntervalSeconds: 0.5 };
    const ids = Array.from({ length: 60 }, (_, i) => `k-${i}`);
    await flow.start(settings);
    // E-mail, because a webhook's address contains the killed runtime's port. Every third one needs a second retry.
    const rows = ids.map((log_id, i) => ({
      log_id,
      tenant_id: 'TENANT001',
      notification_type: 'EMAIL',
      recipient_address: `${i % 3 === 0 ? 'flaky-1' : 'ok'}+${i}@example.com`,
      message_body: '本文',
      send_status: 'FAILED',
    }));
    await flow.put(rows);
    await flow.job();
    await eventually(async () => ((await flow.row('k-0'))['send_status'] === 'FAILED' ? undefined : true));
    await flow.stop('SIGKILL');
    await flow.start(settings);
    // A notification that was claimed when the runtime died is due when its claim expires, 65 seconds later.
    await eventually(async () => {
      await flow.job();
      await setTimeout(5_000);
      const states = await Promise.all(ids.map((log_id) => flow.row(log_id)));
      return states.every(({ send_status }) => send_status === 'SUCCESS') ? true : undefined;
    }, 150_000);
    for (const log_id of ids) {
      const { last_attempt, send_attempts } = await flow.row(log_id);
      const attempts = (await flow.records(log_id)).map(({ retry_attempt }) => retry_attempt);
      expect(attempts, `each attempt on ${log_id} has its record`).toEqual(
        Array.from({ length: Number(last_attempt) }, (_, i) => i + 1),
      );
      expect(Number(send_attempts)).toBeLessThanOrEqual(6);
    }
  }, 240_000);
});
