import { expect, it } from 'vitest';
import { closed, draining, opened, probing, reopened } from '../../../src/core/breaker/breaker.ts';
import { DEFAULT_BREAKER_POLICY as policy } from '../../../src/core/breaker/breaker-policy.ts';
import { reportDownProviders } from '../../../src/core/monitor/dead-providers.ts';
import type { Notice } from '../../../src/core/monitor/death-notice.ts';
import { providerOutcomes } from '../../../src/core/outcomes/state-outcomes.ts';
import { MemoryBreakers } from '../../../tools/simulation/twins/pipeline-state.ts';
import { CONTEXT } from '../../support/outcomes.ts';
import { at } from '../../support/rows.ts';

const HOUR = 3_600_000;
const id = 'webhook#tenant-1@hooks.example.com';

/** A provider that fails every probe, and a monitor that looks each hour. */
function setUp() {
  const { store } = new MemoryBreakers();
  const notices: Notice[] = [];
  const told: unknown[] = [];
  const publish = async (notice: Notice) => void notices.push(notice);
  const look = async (hour: number, providers = store) => {
    const before = (await store.list())[0];
    const down = await reportDownProviders({ providers, publish, stack: 'stack' }, at(hour * HOUR));
    const after = (await store.list())[0];
    const images = { ...(before && { before: { ...before } }), ...(after && { after: { ...after } }) };
    told.push(...providerOutcomes(images, CONTEXT).map(({ detail }) => detail.counts));
    return down;
  };
  const fail = async (hour: number) => {
    const context = { now: at(hour * HOUR), policy };
    const breaker = await store.read(id, { newest: true });
    if (breaker === undefined) await store.write(opened({ id, error_type: 'SERVER_OVERLOAD' }, undefined, context));
    else if (breaker.state === 'open') {
      const probed = probing(breaker, 1_000, context);
      await store.write(probed);
      await store.takeSlot(id, 'standard');
      await store.write(reopened(probed, 'SERVER_OVERLOAD', context));
    } else await store.write(reopened(breaker, 'SERVER_OVERLOAD', context));
  };
  return { store, notices, told, look, fail };
}

it('a provider is told once after a day, three days and a week, with what waits, and switched off never', async () => {
  const { store, notices, told, look, fail } = setUp();
  const when: number[] = [];
  for (let hour = 0; hour < 24 * 9; hour++) {
    await fail(hour);
    if ((await look(hour)).length > 0) when.push(hour);
  }
  expect(when).toEqual([24, 72, 168]);
  expect(notices.map(({ subject }) => subject)).toEqual(Array(3).fill(`stack: ${id} down for days`));
  expect(notices.map(({ text }) => /down for (.*?), since/.exec(text)?.[1])).toEqual(['a day', '3 days', 'a week']);
  expect(notices[0]?.text).toMatch(/About \d+ notifications wait for it\..*runbook\.md#a-provider-is-down/s);
  expect(told).toEqual([1, 3, 7].map((days) => ({ days, waiting: expect.any(Number) })));
  expect((await store.list())[0]?.state).toBe('open');
});

it('an outage that ended is no reason to tell of the next one early', async () => {
  const { store, notices, look, fail } = setUp();
  for (let hour = 0; hour <= 24; hour++) await fail(hour);
  await look(24);
  const open = await store.read(id, { newest: true });
  if (open === undefined) throw new Error('no breaker');
  const context = { now: at(25 * HOUR), policy };
  await store.write(draining(open, context));
  await look(25);
  for (let hour = 26; hour < 26 + 24; hour++) {
    await fail(hour);
    await look(hour);
  }
  expect(notices).toHaveLength(1);
  await fail(50);
  await look(50);
  expect(notices).toHaveLength(2);
});

it('a notice that could not be published is told at the next look, and one that was published twice at most', async () => {
  const { store, notices, look, fail } = setUp();
  for (let hour = 0; hour <= 24; hour++) await fail(hour);
  const forgetful = { ...store, note: () => Promise.reject(new Error('no answer')) };
  await expect(look(24, forgetful)).rejects.toThrow('no answer');
  await look(24);
  await look(24);
  expect(notices).toHaveLength(2);
});

it('one that is up, or to which nothing comes any more, is not told', async () => {
  const { store, notices, look, fail } = setUp();
  await fail(0);
  await look(40);
  const breaker = await store.read(id, { newest: true });
  if (breaker) await store.write(closed(breaker));
  await look(50);
  expect(notices).toEqual([]);
});
