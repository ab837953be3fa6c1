import { describe, expect, it } from 'vitest';
import { opened } from '../../../src/core/breaker/breaker.ts';
import { AttemptsUnderWay, OutageDetector } from '../../../src/core/breaker/breaker-gate.ts';
import { DEFAULT_BREAKER_POLICY } from '../../../src/core/breaker/breaker-policy.ts';
import { BATCH_WAIT_MS } from '../../../src/core/breaker/open-breaker.ts';
import { SharedBreakers } from '../../../src/core/breaker/shared-breakers.ts';
import { MemoryBreakers } from '../../../tools/simulation/twins/pipeline-state.ts';
import { T0 } from '../../support/rows.ts';

const POLICY = { ...DEFAULT_BREAKER_POLICY, min_samples: 2 };
const ID = 'webhook#IC1';
const DOWN = { ok: false, error_type: 'SERVER_OVERLOAD', message: 'x' } as const;

function setUp() {
  const memory = new MemoryBreakers();
  const clock = () => T0;
  const breakers = new SharedBreakers({ store: memory.store, policy: POLICY, clock });
  const pauses: number[] = [];
  const pause = async (ms: number) => void pauses.push(ms);
  return { memory, breakers, pauses, detector: new OutageDetector(breakers, { policy: POLICY, clock, pause }) };
}

describe('the attempts under way', () => {
  it('are none before the first and after the last', async () => {
    const attempts = new AttemptsUnderWay();
    expect(attempts.ended('a')).toBeUndefined();
    const [end, endOther] = [attempts.begin('a'), attempts.begin('a')];
    end();
    let ended = false;
    const wait = attempts.ended('a')?.then(() => {
      ended = true;
    });
    await new Promise(setImmediate);
    expect(ended).toBe(false);
    endOther();
    await wait;
    expect(attempts.ended('a')).toBeUndefined();
    expect(attempts.ended('b')).toBeUndefined();
  });

  it('include those that began after others had ended', async () => {
    const attempts = new AttemptsUnderWay();
    attempts.begin('a')();
    const end = attempts.begin('a');
    const waiting = attempts.ended('a');
    expect(waiting).toBeDefined();
    end();
    await waiting;
  });
});

describe('the outage detector', () => {
  it('opens a breaker once its samples are enough, and waits for nobody if nobody is under way', async () => {
    const { detector, memory, pauses } = setUp();
    detector.observe(ID, 'n-1', DOWN);
    await detector.openIfDown(ID, 'SERVER_OVERLOAD');
    expect(memory.breakers.size).toBe(0);
    detector.observe(ID, 'n-2', DOWN);
    await detector.openIfDown(ID, 'SERVER_OVERLOAD');
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'open', version: 1 });
    expect(pauses).toEqual([]);
  });

  it('waits for the others of the batch, and not longer than three seconds', async () => {
    const { detector, pauses } = setUp();
    detector.underWay.begin(ID);
    await detector.openIfDown(ID, 'SERVER_OVERLOAD');
    expect(pauses).toEqual([BATCH_WAIT_MS]);
  });

  it('knows nothing of a provider that it has not observed', async () => {
    const { detector, memory } = setUp();
    await detector.openIfDown(ID, 'SERVER_OVERLOAD');
    expect(memory.breakers.size).toBe(0);
  });

  it('forgets what it is told to: one more failure is no outage', async () => {
    const { detector, memory } = setUp();
    detector.observe(ID, 'n-1', DOWN);
    detector.forget(ID);
    detector.observe(ID, 'n-2', DOWN);
    await detector.openIfDown(ID, 'SERVER_OVERLOAD');
    expect(memory.breakers.size).toBe(0);
  });

  it('leaves a breaker as it is that another worker has opened meanwhile', async () => {
    const { detector, memory } = setUp();
    for (const log_id of ['n-1', 'n-2']) detector.observe(ID, log_id, DOWN);
    const theirs = opened({ id: ID, error_type: 'UNKNOWN' }, undefined, { now: T0, policy: POLICY });
    memory.breakers.set(ID, theirs);
    await detector.openIfDown(ID, 'SERVER_OVERLOAD');
    expect(memory.breakers.get(ID)).toEqual(theirs);
  });

  it('makes one transition for all the failures of a batch, and begins to count anew', async () => {
    const { detector, memory, breakers } = setUp();
    let opens = 0;
    const open = breakers.open.bind(breakers);
    breakers.open = async (...args) => {
      opens++;
      await new Promise(setImmediate);
      return open(...args);
    };
    for (const log_id of ['n-1', 'n-2']) detector.observe(ID, log_id, DOWN);
    await Promise.all([detector.openIfDown(ID, 'SERVER_OVERLOAD'), detector.openIfDown(ID, 'SERVER_OVERLOAD')]);
    expect(opens).toBe(1);
    memory.breakers.clear();
    breakers.forget(ID);
    await detector.openIfDown(ID, 'SERVER_OVERLOAD');
    expect(memory.breakers.size).toBe(0);
  });

  it('keeps outcomes of two thousand providers at most', async () => {
    const { detector, memory } = setUp();
    detector.observe(ID, 'n-1', DOWN);
    for (let i = 0; i < 1_999; i++) detector.observe(`other-${i}`, 'n', DOWN);
    // The window of the two thousand and first would be one too many.
    detector.observe('one-more', 'n', DOWN);
    detector.observe(ID, 'n-2', DOWN);
    await detector.openIfDown(ID, 'SERVER_OVERLOAD');
    expect(memory.breakers.size).toBe(0);
    detector.observe(ID, 'n-3', DOWN);
    await detector.openIfDown(ID, 'SERVER_OVERLOAD');
    expect(memory.breakers.size).toBe(1);
  });
});
