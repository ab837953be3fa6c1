import { describe, expect, it } from 'vitest';
import { type Breaker, opened } from '../../../src/core/breaker/breaker.ts';
import { DEFAULT_BREAKER_POLICY as policy } from '../../../src/core/breaker/breaker-policy.ts';
import { hold } from '../../../src/core/breaker/open-breaker.ts';
import { type BreakerStore, SharedBreakers } from '../../../src/core/breaker/shared-breakers.ts';
import { MemoryBreakers } from '../../../tools/simulation/twins/pipeline-state.ts';
import { T0 } from '../../support/rows.ts';

const ID = 'webhook#IC1';
const open = (changes: Partial<Breaker> = {}): Breaker => ({
  ...opened({ id: ID, error_type: 'UNKNOWN' }, undefined, { now: T0, policy }),
  ...changes,
});

function setUp(own: Partial<BreakerStore> = {}, silent = false) {
  const memory = new MemoryBreakers();
  let now = T0.getTime();
  const reads: string[] = [];
  const faults: unknown[] = [];
  const store: BreakerStore = {
    ...memory.store,
    first: async (limit) => {
      reads.push(`first ${limit}`);
      return memory.store.first(limit);
    },
    read: async (id, { newest }) => {
      reads.push(`${newest ? 'newest' : 'recent'} ${id}`);
      return memory.store.read(id, { newest });
    },
    ...own,
  };
  const deps = {
    store,
    policy,
    clock: () => new Date(now),
    ...(!silent && { onFault: (error: unknown) => void faults.push(error) }),
  };
  const breakers = new SharedBreakers(deps);
  const pass = (ms: number) => {
    now += ms;
  };
  return { memory, breakers, reads, faults, pass, deps };
}
const crowd = (memory: MemoryBreakers) => {
  for (let i = 0; i < 101; i++) memory.breakers.set(`other-${i}`, open({ id: `other-${i}` }));
};

describe('what a worker knows of the breakers', () => {
  it('gives way to a breaker that opened after the item of the one before had expired, though its versions start anew', async () => {
    const { breakers, pass, memory } = setUp();
    expect(breakers.phase(ID)).toBe('closed');
    memory.breakers.set(ID, open({ state: 'closed', version: 7 }));
    await breakers.refresh(ID, 5_000);
    pass(3 * 86_400_000);
    const since = new Date(T0.getTime() + 3 * 86_400_000).toISOString();
    memory.breakers.set(ID, open({ version: 1, since }));
    await breakers.refresh(ID, 5_000);
    expect(breakers.phase(ID)).toBe('open');
    breakers.learn(open({ state: 'closed', version: 7 }));
    expect(breakers.phase(ID)).toBe('open');
  });

  it('is read together while they are few, and once within the time that it is trusted', async () => {
    const { breakers, reads, pass, memory } = setUp();
    memory.breakers.set(ID, open());
    await Promise.all([breakers.refresh(ID, 5_000), breakers.refresh('another', 5_000)]);
    expect(breakers.phase(ID)).toBe('open');
    pass(4_999);
    await breakers.refresh(ID, 5_000);
    expect(reads).toEqual(['first 100']);
    pass(1);
    await breakers.refresh(ID, 5_000);
    expect(reads).toEqual(['first 100', 'first 100']);
  });

  it('is read by provider, at half the price, when there are more', async () => {
    const { breakers, reads, memory } = setUp();
    crowd(memory);
    memory.breakers.set(ID, open());
    await breakers.refresh(ID, 5_000);
    expect(reads).toEqual(['first 100', `recent ${ID}`]);
    expect(breakers.phase(ID)).toBe('open');
  });

  it('is that a provider without a breaker is up, which is no fault', async () => {
    const { breakers, faults, memory } = setUp();
    crowd(memory);
    await breakers.refresh(ID, 5_000);
    expect([breakers.phase(ID), faults]).toEqual(['closed', []]);
  });

  it('is nothing until it was read: the first read may fail, and the provider is read by itself', async () => {
    const { breakers, reads, memory } = setUp({ first: () => Promise.reject(new Error('throttled')) });
    memory.breakers.set(ID, open());
    await breakers.refresh(ID, 5_000);
    expect(reads).toEqual([`recent ${ID}`]);
    expect(breakers.phase(ID)).toBe('open');
  });

  it('includes the newest transition after refreshNewest, read once per provider', async () => {
    const { breakers, reads, memory } = setUp();
    memory.breakers.set(ID, open());
    await Promise.all([breakers.refreshNewest(ID, 1_000), breakers.refreshNewest(ID, 1_000)]);
    await breakers.refreshNewest('another', 1_000);
    expect(reads).toEqual([`newest ${ID}`, 'newest another']);
    expect(breakers.phase(ID)).toBe('open');
  });

  it('is the later of two views, in whatever order they come', () => {
    const { breakers } = setUp();
    breakers.learn(open({ version: 3, error_type: 'NETWORK_TIMEOUT' }));
    breakers.learn(open({ version: 2 }));
    expect(breakers.get(ID)).toMatchObject({ version: 3 });
    breakers.learn(open({ version: 3, error_type: 'SERVER_OVERLOAD' }));
    expect(breakers.get(ID)).toMatchObject({ version: 3, error_type: 'SERVER_OVERLOAD' });
  });

  it('is nothing again after it is forgotten', () => {
    const { breakers } = setUp();
    breakers.learn(open());
    breakers.forget(ID);
    expect([breakers.get(ID), breakers.phase(ID)]).toEqual([undefined, 'closed']);
  });

  it('keeps the times of two thousand reads at most', async () => {
    const { breakers, reads } = setUp();
    for (let i = 0; i < 2_000; i++) await breakers.refreshNewest(`p-${i}`, 1_000);
    await breakers.refreshNewest('p-0', 1_000);
    expect(reads).toHaveLength(2_000);
    await breakers.refreshNewest('one-more', 1_000);
    await breakers.refreshNewest('p-0', 1_000);
    expect(reads.slice(2_000)).toEqual(['newest one-more', 'newest p-0']);
  });
});

describe('a transition', () => {
  it('that another worker made first is learnt, and is not ours', async () => {
    const { breakers, memory, faults } = setUp();
    memory.breakers.set(ID, open({ version: 5 }));
    expect(await breakers.transition(open({ version: 2 }))).toBe(false);
    expect(breakers.get(ID)).toMatchObject({ version: 5 });
    expect(faults).toEqual([]);
  });

  it.each(['told of', 'silent'])('that storage refuses is none, and the fault is %s', async (how) => {
    const error = new Error('throttled');
    const { breakers, faults } = setUp({ write: () => Promise.reject(error) }, how === 'silent');
    expect(await breakers.transition(open())).toBe(false);
    expect(breakers.get(ID)).toBeUndefined();
    expect(faults).toEqual(how === 'silent' ? [] : [error]);
  });

  it.each(['told of', 'silent'])('is not hindered by a read that fails, which is %s', async (how) => {
    const error = new Error('throttled');
    const failing = { first: () => Promise.reject(error), read: () => Promise.reject(error) };
    const { breakers, faults } = setUp(failing, how === 'silent');
    await breakers.refresh(ID, 0);
    expect(faults).toEqual(how === 'silent' ? [] : [error, error]);
    expect(await breakers.transition(open())).toBe(true);
  });

  it('to draining is made of an open breaker only', async () => {
    const { breakers, memory } = setUp();
    await breakers.drain(ID);
    expect(memory.breakers.size).toBe(0);
    const closed = open({ state: 'closed' });
    memory.breakers.set(ID, closed);
    breakers.learn(closed);
    await breakers.drain(ID);
    expect(memory.breakers.get(ID)).toEqual(closed);
  });
});

describe('a hold', () => {
  const normal = { priority: 'normal' } as const;

  it('learns from its slot what another worker has changed', async () => {
    const { breakers, memory, deps } = setUp();
    const known = open();
    memory.breakers.set(ID, open({ version: 7 }));
    await hold(known, normal, breakers, deps);
    expect(breakers.get(ID)).toMatchObject({ version: 7 });
  });

  it('is none when there is no breaker any more, which is forgotten', async () => {
    const { breakers, deps } = setUp();
    breakers.learn(open());
    expect(await hold(open(), normal, breakers, deps)).toBeUndefined();
    expect(breakers.get(ID)).toBeUndefined();
  });

  it.each([
    ['of the next probe', 10_000, 30_000, 10_000],
    ['that an interval from now ends, if that is sooner', 90_000, 30_000, 30_000],
  ])('ends no sooner than the time %s', async (_, probe, interval_ms, expected) => {
    const { breakers, memory, deps } = setUp();
    const empty = { from: new Date(0).toISOString(), slots: 0 };
    const probe_at = new Date(T0.getTime() + probe).toISOString();
    const known = open({ probe_at, interval_ms, lines: { express: empty, standard: empty } });
    memory.breakers.set(ID, known);
    expect(await hold(known, normal, breakers, deps)).toMatchObject({
      do: 'hold',
      until: new Date(T0.getTime() + expected).toISOString(),
      error_type: 'UNKNOWN',
      by: { breaker: ID },
    });
  });

  it.each([
    ['the next probe', 90_000, 90_000],
    ['an interval', 10_000, 30_000],
  ])('outside the line, while storage fails, lasts until %s has passed', async (_, probe, expected) => {
    const error = new Error('throttled');
    for (const silent of [false, true]) {
      const { breakers, deps, faults } = setUp({ takeSlot: () => Promise.reject(error) }, silent);
      const probe_at = new Date(T0.getTime() + probe).toISOString();
      const held = await hold(open({ probe_at, interval_ms: 30_000 }), normal, breakers, deps);
      expect(held?.until).toBe(new Date(T0.getTime() + expected).toISOString());
      expect(faults).toEqual(silent ? [] : [error]);
    }
  });
});
