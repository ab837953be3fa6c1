import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { startVerification, stopVerification } from '../../../src/core/verify/kept-verification.ts';
import { type KeptRunDeps, runKept } from '../../../src/core/verify/run-kept.ts';
import type { Verification } from '../../../src/core/verify/verification.ts';
import { createMemoryVerification } from '../../../tools/simulation/twins/row-stores.ts';
import { dueRow } from '../../support/rows.ts';
import { VerifiedTables } from '../../support/verified-tables.ts';

const lost = (i: number, log_id = `n-${i}`) => ({ ...dueRow({ log_id }), work_queue: undefined });

function world(rows: number, broken = 0, rate = 1e9) {
  const tables = new VerifiedTables();
  for (let i = 0; i < rows; i += 1) tables.put({ ...dueRow({ log_id: `n-${i}` }) });
  for (let i = 0; i < broken; i += 1) tables.put(lost(rows + i));
  const store = createMemoryVerification();
  const { clock, pause, onProgress: _, isStopping: __, ...ports } = tables.deps({ rate });
  let ids = 0;
  /** Lambda's time: reading ends before it, and looking again at it. */
  const run = (minutes = 10, changes: Partial<KeptRunDeps> = {}) => {
    const until = tables.now + minutes * 60_000;
    const deps: KeptRunDeps = {
      store,
      clock,
      pause,
      ports,
      claim_id: `run-${++ids}`,
      isEnding: () => tables.now > until - 240_000,
      isOver: () => tables.now > until,
      ...changes,
    };
    return runKept(deps);
  };
  const start = (startRun = async () => {}) => startVerification('mori', { store, clock, startRun });
  const state = (): Verification => JSON.parse(store.latest?.state ?? '{}');
  return { tables, store, run, start, state, clock };
}

describe('the verification that a stage keeps', () => {
  it('ends with what it found, after as many processes as it takes', async () => {
    // Two read units a second: 2,000 pages last for a quarter of an hour.
    const at = world(4_000, 30, 2);
    await at.start();
    let runs = 0;
    for (let result = 'interrupted'; result === 'interrupted'; runs += 1) ({ result } = await at.run());
    expect(runs).toBeGreaterThan(2);
    expect(at.store.latest).toMatchObject({ status: 'done', started_by: 'mori', progress: { violated: 30 } });
    expect(at.state()).toMatchObject({ scanned: 4_030, lost: 30, violated: 30, accounts: { waiting: 4_000 } });
    expect(at.store.latest?.claim_id).toBeUndefined();
  });

  it('counts each row once, wherever its processes are killed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 4 }), async (kills) => {
        const at = world(300, 7, 10);
        await at.start();
        for (const kill of kills) {
          let calls = 0;
          const pause = async (ms: number) => {
            calls += 1;
            if (calls > kill) return new Promise<void>(() => {});
            at.tables.now += ms;
          };
          const dead = await Promise.race([
            at.run(1_000, { pause }),
            new Promise((resolve) => setImmediate(() => setTimeout(resolve, 5, 'killed'))),
          ]);
          if (dead !== 'killed') return;
          at.tables.now += 130_000;
        }
        await at.run(1_000);
        expect(at.store.latest).toMatchObject({ status: 'done' });
        expect(at.state()).toMatchObject({ scanned: 307, lost: 7, violated: 7, accounts: { waiting: 300 } });
      }),
      { numRuns: 40 },
    );
  });

  it('fits into an item however much is broken, and counts what it does not name', async () => {
    const at = world(0);
    for (let i = 0; i < 3_000; i += 1) at.tables.put(lost(i, `${i}-${'界'.repeat(i % 7 === 0 ? 600 : 90)}`));
    await at.start();
    await at.run(1_000);
    expect(at.store.latest).toMatchObject({ status: 'done', progress: { violated: 3_000 } });
    expect(at.state().violations.length).toBeGreaterThan(50);
    expect(at.state().violations.length).toBeLessThanOrEqual(250);
  });

  it('is one at a time, and goes on when its process has died', async () => {
    const at = world(10);
    await at.start();
    await expect(at.start()).rejects.toThrow('A verification is running');
    at.tables.now += 300_000;
    const begun = at.store.latest?.started_at;
    await at.start();
    expect(at.store.latest?.started_at).toBe(begun);
    expect(await at.run()).toEqual({ result: 'ended' });
    await at.start();
    expect(at.store.latest?.started_at).not.toBe(begun);
  });

  it('leaves it to the process that works on it, and takes its own over', async () => {
    const at = world(10);
    await at.start();
    await at.store.change(at.store.latest, { set: { claim_id: 'other' } });
    expect(await at.run()).toEqual({ result: 'busy' });
    expect(await at.run(10, { claim_id: 'other' })).toMatchObject({ result: 'ended' });
  });

  it('ends when somebody stops it, and cannot be stopped again', async () => {
    const at = world(2_000, 0, 1);
    await at.start();
    let pauses = 0;
    const pause = async (ms: number) => {
      at.tables.now += ms;
      pauses += 1;
      if (pauses === 20) await stopVerification({ store: at.store, clock: at.clock });
    };
    expect(await at.run(1_000, { pause })).toEqual({ result: 'ended' });
    expect(at.store.latest).toMatchObject({ status: 'stopped' });
    expect(at.state().scanned).toBeLessThan(2_000);
    await expect(stopVerification({ store: at.store, clock: at.clock })).rejects.toThrow('No verification is running');
  });

  it('fails where no process gets on, and says what has no limit', async () => {
    const at = world(100);
    await at.start();
    expect(await at.run(1)).toEqual({ result: 'ended' });
    expect(at.store.latest).toMatchObject({ status: 'failed', error: expect.stringContaining('ops verify') });
  });

  it('keeps why it stopped, and the next start goes on', async () => {
    const at = world(10);
    await at.start();
    const page = async () => Promise.reject(new Error('throttled'));
    const { rows, ...rest } = at.tables.deps().ports;
    const broken = { ...at.tables.deps(), ports: { ...rest, rows: { ...rows, page } } };
    await expect(at.run(10, { ports: broken })).rejects.toThrow('throttled');
    expect(at.store.latest).toMatchObject({ status: 'running', error: expect.stringContaining('start goes on') });
    await at.start();
    expect(await at.run()).toEqual({ result: 'ended' });
    expect(at.state()).toMatchObject({ scanned: 10 });
    expect(at.store.latest?.error).toBeUndefined();
  });
});
