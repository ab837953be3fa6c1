import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  GatheredError,
  type GatherOptions,
  gather,
  SendsUnderWay,
  withSignal,
} from '../../../src/adapters/batching/gather.ts';

/** Timers that the test lets run. */
function manualTimers() {
  const timers: { run: () => void; at: number }[] = [];
  let now = 0;
  return {
    schedule: (run: () => void, ms: number) => {
      const timer = { run, at: now + ms };
      timers.push(timer);
      return () => void (timers.includes(timer) && timers.splice(timers.indexOf(timer), 1));
    },
    async advance(ms: number) {
      now += ms;
      for (const timer of timers.filter(({ at }) => at <= now)) {
        timers.splice(timers.indexOf(timer), 1);
        timer.run();
      }
      await settled();
    },
  };
}

const settled = async () => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

function gathering(options: Partial<GatherOptions<string>> = {}) {
  const sends = new SendsUnderWay();
  const timers = manualTimers();
  const calls: (readonly string[])[] = [];
  const ask = gather<string, string>(
    async (items) => {
      calls.push(items);
      return items.map((item) => item.toUpperCase());
    },
    { max: 3, wait_ms: 3, hold: { sends, most_ms: 100 }, schedule: timers.schedule, ...options },
  );
  return { sends, timers, calls, ask };
}

/** A send, and what gives its answer. */
function begin(sends: SendsUnderWay): () => Promise<void> {
  const answer = Promise.withResolvers<void>();
  const send = sends.during(() => answer.promise);
  return async () => {
    answer.resolve();
    await send;
    await settled();
  };
}

describe('outcomes of a batch', () => {
  it('share a call while others are under way, which is made soon after the last of them', async () => {
    const { sends, timers, calls, ask } = gathering();
    const ends = [begin(sends), begin(sends)];
    const asked = [ask('a')];
    await timers.advance(60);
    await ends[0]?.();
    asked.push(ask('b'));
    await timers.advance(30);
    expect(calls).toEqual([]);
    await ends[1]?.();
    asked.push(ask('c'));
    await timers.advance(3);
    expect(calls).toEqual([['a', 'b', 'c']]);
    expect(await Promise.all(asked)).toEqual(['A', 'B', 'C']);
  });

  it('wait no longer than the bound, however long the others take', async () => {
    const { sends, timers, calls, ask } = gathering();
    begin(sends);
    void ask('a');
    await timers.advance(99);
    expect(calls).toEqual([]);
    await timers.advance(1);
    expect(calls).toEqual([['a']]);
    void ask('b');
    await timers.advance(99);
    expect(calls).toHaveLength(1);
    await timers.advance(1);
    expect(calls).toEqual([['a'], ['b']]);
  });

  it('do not wait when nothing is under way', async () => {
    const { timers, calls, ask } = gathering();
    void ask('a');
    await timers.advance(3);
    expect(calls).toEqual([['a']]);
  });

  it('are written at once when a call is full', async () => {
    const { sends, calls, ask } = gathering();
    begin(sends);
    const asked = ['a', 'b', 'c', 'd'].map(ask);
    await settled();
    expect(calls).toEqual([['a', 'b', 'c']]);
    expect(await Promise.race([asked[3], settled().then(() => 'waits')])).toBe('waits');
  });

  it('wait anew after a full call, also when the sends of the first one end', async () => {
    const { sends, timers, calls, ask } = gathering();
    const end = begin(sends);
    for (const item of ['a', 'b', 'c']) void ask(item);
    const other = begin(sends);
    void ask('d');
    await end();
    await timers.advance(50);
    expect(calls).toHaveLength(1);
    await other();
    await timers.advance(3);
    expect(calls).toEqual([['a', 'b', 'c'], ['d']]);
  });

  it('are not answered before their call is, and fail with it', async () => {
    const answer = Promise.withResolvers<string[]>();
    const { timers } = gathering();
    const ask = gather<string, string>(() => answer.promise, { max: 3, schedule: timers.schedule });
    const asked = ask('a').catch((error: Error) => error.message);
    await timers.advance(0);
    expect(await Promise.race([asked, settled().then(() => 'waits')])).toBe('waits');
    answer.reject(new Error('throttled'));
    expect(await asked).toBe('throttled');
  });

  it('of the same key go in calls of their own', async () => {
    const { timers, calls, ask } = gathering({ keyOf: (item) => item });
    void ask('a');
    void ask('a');
    await timers.advance(3);
    expect(calls).toEqual([['a'], ['a']]);
  });

  it('fail alone where only one of them failed', async () => {
    const { timers } = gathering();
    const ask = gather<string, string>(
      async (items) => items.map((item) => (item === 'b' ? new GatheredError(new Error('no b')) : item)),
      { max: 3, schedule: timers.schedule },
    );
    const asked = Promise.allSettled(['a', 'b'].map(ask));
    await timers.advance(0);
    expect(await asked).toMatchObject([{ value: 'a' }, { reason: { message: 'no b' } }]);
  });
});

it('the sends under way end when the last of them does, also when it fails', async () => {
  const sends = new SendsUnderWay();
  const end = begin(sends);
  const failed = Promise.reject(new Error('reset'));
  await expect(sends.during(() => failed)).rejects.toThrow('reset');
  expect(sends.any).toBe(true);
  const ended = sends.ended().then(() => 'ended');
  expect(await Promise.race([ended, settled().then(() => 'not yet')])).toBe('not yet');
  await end();
  expect(await ended).toBe('ended');
  expect(sends.any).toBe(false);
  await sends.ended();
});

describe('a signal', () => {
  afterEach(() => void vi.useRealTimers());

  it('aborts at the time limit', async () => {
    vi.useFakeTimers();
    const reason = withSignal(1_000)(
      (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason))),
    );
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await reason).toMatchObject({ name: 'TimeoutError' });
  });

  it('leaves no timer behind, however its run ended', async () => {
    vi.useFakeTimers();
    await withSignal(1_000)(async () => {});
    await expect(withSignal(1_000)(() => Promise.reject(new Error('reset')))).rejects.toThrow('reset');
    expect(vi.getTimerCount()).toBe(0);
  });
});
