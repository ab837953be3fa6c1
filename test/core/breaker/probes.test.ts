import { describe, expect, it } from 'vitest';
import { opened } from '../../../src/core/breaker/breaker.ts';
import { BreakerGate } from '../../../src/core/breaker/breaker-gate.ts';
import { DEFAULT_BREAKER_POLICY as policy } from '../../../src/core/breaker/breaker-policy.ts';
import { Probes } from '../../../src/core/breaker/open-breaker.ts';
import { SharedBreakers } from '../../../src/core/breaker/shared-breakers.ts';
import type { SendResult } from '../../../src/core/delivery/ports.ts';
import { MemoryBreakers } from '../../../tools/simulation/twins/pipeline-state.ts';
import { at, dueRow, T0 } from '../../support/rows.ts';

const ID = 'webhook#IC1';
const OK: SendResult = { ok: true, response_code: '200' };
const DOWN: SendResult = { ok: false, error_type: 'SERVER_OVERLOAD', message: 'x', response_code: '503' };
const REFUSED: SendResult = { ok: false, error_type: 'INVALID_RECIPIENT', message: 'x', response_code: '404' };
const breaker = opened({ id: ID, error_type: 'UNKNOWN' }, undefined, { now: T0, policy });

function setUp() {
  const memory = new MemoryBreakers();
  let now = T0;
  const clock = () => now;
  const breakers = new SharedBreakers({ store: memory.store, policy, clock });
  memory.breakers.set(ID, breaker);
  breakers.learn(breaker);
  const probes = new Probes(breakers, { policy, clock, probe_ms: 25_000 });
  const advance = (to: Date) => {
    now = to;
  };
  return { memory, breakers, probes, advance, clock };
}

describe('a probe', () => {
  it('is under way until its answer, or until its lease ends', async () => {
    const { probes, advance } = setUp();
    expect(probes.underWay(ID)).toBeUndefined();
    const probe = await probes.begin(breaker);
    advance(at(24_999));
    expect(probes.underWay(ID)).toBeDefined();
    advance(at(25_000));
    expect(probes.underWay(ID)).toBeUndefined();
    advance(at(24_999));
    await probe?.(OK);
    expect(probes.underWay(ID)).toBeUndefined();
  });

  it.each([
    ['back', OK, true],
    ['back, although it refused the message', REFUSED, true],
    ['down', DOWN, false],
  ])('tells those who wait for it that the provider is %s', async (_, answer, expected) => {
    const { probes } = setUp();
    const probe = await probes.begin(breaker);
    const back = probes.underWay(ID);
    await probe?.(answer);
    expect(await back).toBe(expected);
  });

  it.each([
    ['probes it', { ...breaker, version: 9 }, false],
    ['saw that it is back', { ...breaker, version: 9, state: 'closed' as const }, true],
  ])('is another worker’s if that one was faster and %s: those who wait learn it', async (_, theirs, expected) => {
    const { memory, probes, breakers } = setUp();
    memory.breakers.set(ID, theirs);
    const beginning = probes.begin(breaker);
    const back = probes.underWay(ID);
    expect(await beginning).toBeUndefined();
    expect(await back).toBe(expected);
    expect(breakers.phase(ID)).toBe(theirs.state);
    expect(probes.underWay(ID)).toBeUndefined();
  });
});

describe('an attempt that the gate admits', () => {
  function gateOf() {
    const memory = new MemoryBreakers();
    const pauses: number[] = [];
    const reads: string[] = [];
    const store = {
      ...memory.store,
      read: async (id: string, options: { readonly newest: boolean }) => {
        reads.push(id);
        return memory.store.read(id, options);
      },
    };
    const pause = async (ms: number) => void pauses.push(ms);
    // A provider that starts slowly takes the one that draws the least.
    const random = () => 0;
    const gate = new BreakerGate({ store, policy, clock: () => T0, pause, probe_ms: 25_000, random });
    const attempt = async (answer: SendResult, forced = false) => {
      const admission = await gate.admit(dueRow({ integration_config_id: 'IC1' }), forced);
      if (admission.do === 'hold') throw new Error('it is held');
      expect(admission.do).toBe('send');
      return admission.report(answer);
    };
    return { memory, pauses, reads, attempt };
  }

  it('ends with its answer: a later failure waits for nobody', async () => {
    const { attempt, pauses } = gateOf();
    await attempt(OK);
    await attempt(DOWN);
    expect(pauses).toEqual([]);
  });

  it('and was forced ends with its answer, too', async () => {
    const { attempt, pauses, memory } = gateOf();
    memory.breakers.set(ID, breaker);
    expect(await attempt(OK, true)).toBe(false);
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'draining' });
    await attempt(DOWN);
    expect(pauses).toEqual([]);
  });

  it.each([
    ['an outage', DOWN, [ID]],
    ['a refusal of this message', REFUSED, []],
  ])('reads what other workers know only after %s', async (_, answer, expected) => {
    const { attempt, reads } = gateOf();
    await attempt(answer);
    expect(reads).toEqual(expected);
  });
});
