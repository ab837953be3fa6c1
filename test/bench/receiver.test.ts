import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { latencies, type Receiver, startReceiver } from '../../tools/bench/setup/receiver.ts';

describe("the benchmarks' receiver", () => {
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await startReceiver();
  });
  afterAll(() => receiver.close());

  const ids = Array.from({ length: 100 }, (_, i) => `log-${i}`);
  const post = async (path: string, id: string) =>
    (await fetch(`${receiver.url}${path}`, { method: 'POST', headers: { 'webhook-id': id } })).status;

  it('refuses a fifth at the first try, and none at the second', async () => {
    const refused: string[] = [];
    for (const id of ids) if ((await post('/flaky/ok', id)) === 503) refused.push(id);
    expect(refused.length).toBeGreaterThan(10);
    expect(refused.length).toBeLessThan(30);
    expect([...receiver.refused()]).toEqual(refused);
    for (const id of refused) expect(await post('/flaky/ok', id)).toBe(200);
    expect([...receiver.refused()]).toEqual(refused);
    expect(receiver.delivered()).toBe(ids.length);
    receiver.reset();
    expect(receiver.refused().size).toBe(0);
    expect(await post('/flaky/ok', refused[0] ?? '')).toBe(503);
  });

  it('draws latencies evenly from 20 to 300 ms, so that the answers of a batch are apart', () => {
    const draw = latencies();
    for (let batch = 0; batch < 50; batch++) {
      const drawn = Array.from({ length: 10 }, draw);
      expect(Math.min(...drawn)).toBeGreaterThanOrEqual(20);
      expect(Math.max(...drawn)).toBeLessThan(300);
      expect(Math.max(...drawn) - Math.min(...drawn)).toBeGreaterThan(80);
    }
  });

  it('answers slowly where the path says so', async () => {
    const began = performance.now();
    expect(await post('/slow/ok', 'log-1')).toBe(200);
    expect(performance.now() - began).toBeGreaterThan(19);
  });
});
