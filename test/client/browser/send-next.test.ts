import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QueueEntry } from '../../../src/client/browser/queue/queue-entry.ts';
import { type QueueEvent, type SendPorts, sendNext } from '../../../src/client/browser/queue/send-next.ts';
import { type HandoverOutcome, noAnswer, outcomeOfAnswer } from '../../../src/client/handover/retry-rules.ts';
import { memoryEntries } from '../../support/client/memory-entries.ts';

const HOUR_MS = 3_600_000;
const ACCEPTED: HandoverOutcome = { state: 'accepted', log_id: 'NL', repeat: false };
const NO_ANSWER = noAnswer('TypeError');

/** A queue of a tab on a store in memory. Answers are taken from the list; then everything is accepted. */
function queue(...answers: (HandoverOutcome | Error)[]) {
  const store = memoryEntries();
  const sent: QueueEntry[] = [];
  const events: QueueEvent[] = [];
  const world = { now: 1_000_000, online: true };
  const ports: SendPorts = {
    store,
    send: async (entry) => {
      sent.push(entry);
      const answer = answers.shift() ?? ACCEPTED;
      if (answer instanceof Error) throw answer;
      return answer;
    },
    isOnline: () => world.online,
    emit: (event) => events.push(event),
    now: () => world.now,
    random: () => 0.5,
  };
  const add = (body: string) =>
    store.add({
      state: 'waiting',
      idempotency_key: `key-${body}`,
      notification: { channel: 'email', recipient: 'a@b.example', body },
      label: body,
      created_at: world.now,
      attempts: 0,
    });
  const seen = () => events.map(({ type, entry }) => `${type} ${entry.label}`);
  const one = async (id: number) => (await store.list()).find((entry) => entry.id === id);
  return { store, sent, events, world, ports, add, seen, one, step: (anew = false) => sendNext(ports, anew) };
}

const answered = (status: number, retryAfterMs?: number) => outcomeOfAnswer(status, {}, retryAfterMs);

describe('the offline queue', () => {
  it('sends in order, each with the key that was made once, and forgets the content of what is accepted', async () => {
    const { step, add, sent, seen, store } = queue();
    for (const body of ['a', 'b']) await add(body);
    expect([await step(), await step(), await step()]).toEqual([0, 0, undefined]);
    expect(sent.map(({ idempotency_key }) => idempotency_key)).toEqual(['key-a', 'key-b']);
    expect(seen()).toEqual(['sending a', 'accepted a', 'sending b', 'accepted b']);
    for (const entry of await store.list()) {
      expect(entry).toMatchObject({ state: 'accepted', log_id: 'NL', label: expect.any(String) });
      expect(entry).not.toHaveProperty('notification');
    }
  });

  it('makes three attempts, after one and two seconds, then keeps it as failed, and goes on with the next', async () => {
    const { step, add, one, world, sent, seen } = queue(answered(503), answered(503), answered(503));
    const [a, b] = [await add('a'), await add('b')];
    for (const wait of [1_000, 2_000]) {
      expect(await step()).toBeCloseTo(wait, 5);
      expect(await step()).toBeCloseTo(wait, 5);
      world.now += wait + 1;
    }
    expect(await step()).toBe(30_000);
    expect(await one(a.id)).toMatchObject({ state: 'failed', attempts: 3, reason: 'status 503', notification: {} });
    expect(sent).toHaveLength(3);
    // What the API did to one it would do to the next: that waits.
    expect(await step()).toBe(30_000);
    world.now += 30_000;
    expect(await step()).toBe(0);
    expect(await one(b.id)).toMatchObject({ state: 'accepted' });
    expect(seen()).toContain('failed a');
  });

  it('waits as long as Retry-After says, also when the network is back', async () => {
    const { step, add } = queue(answered(429, 60_000));
    await add('a');
    expect(await step()).toBe(60_000);
    expect(await step(true)).toBe(60_000);
  });

  it.each([5 * 60 + 1, 3_600, 31_536_000, 1e300])(
    'lets those behind it go first if Retry-After is %d s, and tries it once more before its key is forgotten',
    async (seconds) => {
      const { step, add, one, world } = queue(answered(429, seconds * 1_000));
      const [a, b, c] = [await add('a'), await add('b'), await add('c')];
      expect(await step()).toBe(30_000);
      world.now += 30_000;
      expect([await step(), await step()]).toEqual([0, 0]);
      for (const { id } of [b, c]) expect(await one(id)).toMatchObject({ state: 'accepted' });
      const wait = (await step()) ?? 0;
      expect(wait).toBeLessThanOrEqual(Math.min(seconds * 1_000, 71 * HOUR_MS));
      // What comes meanwhile is not held either.
      const d = await add('d');
      expect(await step()).toBe(0);
      expect(await one(d.id)).toMatchObject({ state: 'accepted' });
      world.now += wait;
      expect(await step()).toBe(0);
      expect(await one(a.id)).toMatchObject({ state: 'accepted' });
    },
  );

  it('keeps as failed what is always told to wait a year, within the time of its key', async () => {
    const { ports, add, store, world } = queue();
    const send = async () => answered(503, 31_536_000_000);
    for (const body of ['a', 'b', 'c']) await add(body);
    const start = world.now;
    for (let steps = 0; steps < 100; steps++) {
      const wait = await sendNext({ ...ports, send });
      if (wait === undefined) break;
      world.now += wait;
    }
    expect(await store.list()).toMatchObject(
      Array.from('abc', (label) => ({ label, state: 'failed', notification: {} })),
    );
    expect(world.now - start).toBeLessThan(72 * HOUR_MS);
  });

  it('holds nothing for a year', async () => {
    const { step, add, store, world, one } = queue();
    const [a, b] = [await add('a'), await add('b')];
    const year = 31_536_000_000;
    await store.replace({ ...a, attempts: 1, first_sent_at: world.now, not_before: world.now + year, wait_ms: year });
    expect(await step()).toBe(0);
    expect(await one(b.id)).toMatchObject({ state: 'accepted' });
    const wait = (await step()) ?? 0;
    expect(wait).toBe(71 * HOUR_MS);
    world.now += wait;
    await step();
    expect(await one(a.id)).toMatchObject({ state: 'accepted' });
  });

  it('keeps what the API refuses with its words, at once, and sends the next', async () => {
    const problem = { type: 'urn:notification-retry:problem:invalid-request', title: 'T', detail: 'recipient …' };
    const { step, add, one } = queue(outcomeOfAnswer(400, problem));
    const [a, b] = [await add('a'), await add('b')];
    expect([await step(), await step()]).toEqual([0, 0]);
    expect(await one(a.id)).toMatchObject({ state: 'failed', attempts: 1, reason: 'invalid-request', problem });
    expect(await one(b.id)).toMatchObject({ state: 'accepted' });
  });

  it.each([
    ['back 40 days', -40 * 24 * HOUR_MS],
    ['back an hour', -HOUR_MS],
  ])('waits no longer than was meant when the clock is set %s', async (_, ms) => {
    const { step, add, one, world } = queue(answered(429, 60_000));
    const { id } = await add('a');
    expect(await step()).toBe(60_000);
    world.now += ms;
    expect(await step()).toBe(60_000);
    world.now += 60_000;
    expect(await step()).toBe(0);
    expect(await one(id)).toMatchObject({ state: 'accepted' });
  });

  it('makes no attempt without network, and counts none that lost it on the way', async () => {
    const { step, add, world, ports, one, sent } = queue();
    const { id } = await add('a');
    world.online = false;
    expect(await step()).toBeUndefined();
    expect(sent).toEqual([]);
    world.online = true;
    const loses = {
      ...ports,
      send: async () => {
        world.online = false;
        return NO_ANSWER;
      },
    };
    for (let i = 0; i < 5; i++) {
      world.online = true;
      expect(await sendNext(loses)).toBeUndefined();
    }
    expect(await one(id)).toMatchObject({ state: 'waiting', attempts: 0 });
  });

  it('does not wait any longer for what got no answer when the network is back', async () => {
    const { step, add, one } = queue(NO_ANSWER);
    const { id } = await add('a');
    expect(await step()).toBeCloseTo(1_000, 5);
    expect(await step(true)).toBe(0);
    expect(await one(id)).toMatchObject({ state: 'accepted' });
  });

  it('leaves to a person what was first sent when the API may have forgotten its key', async () => {
    const { step, add, world, one, sent } = queue(new Error('the tab was closed'));
    const { id } = await add('a');
    await expect(step()).rejects.toThrow('closed');
    world.now += 71 * HOUR_MS + 1;
    expect(await step()).toBe(0);
    expect(await one(id)).toMatchObject({ state: 'failed', reason: 'too-old', attempts: 0 });
    expect(sent).toHaveLength(1);
  });

  it('sends what waited for days and was never sent', async () => {
    const { step, add, world, one } = queue();
    const { id } = await add('a');
    world.now += 100 * HOUR_MS;
    await step();
    expect(await one(id)).toMatchObject({ state: 'accepted' });
  });

  it('does not bring back what a person removed while it was sent', async () => {
    const { ports, add, store, seen } = queue();
    const { id } = await add('a');
    const removes = {
      ...ports,
      send: async () => {
        await store.remove(id);
        return answered(503);
      },
    };
    await sendNext(removes);
    expect(await store.list()).toEqual([]);
    expect(seen()).toEqual(['sending a', 'removed a']);
  });
});

const FATES = [
  'accepts',
  'accepts and the answer is lost',
  'accepts and the tab dies',
  'tab dies',
  '503',
  'a year',
  'no answer',
] as const;

it('whatever happens to tabs, network and API each notification is accepted once, in order, or kept', async () => {
  let [repeats, failures] = [0, 0];
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...FATES), { maxLength: 40 }),
      fc.integer({ min: 1, max: 6 }),
      async (fates, count) => {
        const { ports, add, store, world } = queue();
        const isOrdered = !fates.includes('a year');
        /** What the API accepted, by key: a repeat is no new notification. */
        const accepted = new Map<string, string>();
        const send = async ({ idempotency_key, notification }: QueueEntry): Promise<HandoverOutcome> => {
          const fate = fates.shift() ?? 'accepts';
          if (fate === 'tab dies') throw new Error(fate);
          if (fate === '503') return answered(503);
          if (fate === 'a year') return answered(429, 31_536_000_000);
          if (fate === 'no answer') return NO_ANSWER;
          const repeat = accepted.has(idempotency_key);
          if (repeat) repeats++;
          accepted.set(idempotency_key, notification?.body ?? '');
          if (fate === 'accepts and the tab dies') throw new Error(fate);
          return fate === 'accepts' ? { ...ACCEPTED, repeat } : NO_ANSWER;
        };
        for (let i = 0; i < count; i++) await add(`${i}`);
        for (let steps = 0; steps < 300; steps++) {
          // A tab that died is followed by another one on the same store.
          const wait = await sendNext({ ...ports, send }).catch(() => 1);
          if (wait === undefined) break;
          world.now += wait;
        }
        const entries = await store.list();
        expect(entries.filter(({ state }) => state === 'waiting')).toEqual([]);
        const failed = entries.filter(({ state }) => state === 'failed');
        failures += failed.length;
        for (const entry of failed)
          expect(entry).toMatchObject({ notification: {}, ...(isOrdered && { attempts: 3 }) });
        expect(entries).toHaveLength(count);
        for (const { state, idempotency_key } of entries)
          if (state === 'accepted') expect(accepted.has(idempotency_key)).toBe(true);
        // Whoever is told to wait for long lets the others go first.
        const order = isOrdered ? [...accepted.values()] : [];
        expect(order).toEqual([...order].sort((a, b) => Number(a) - Number(b)));
      },
    ),
    { numRuns: 300 },
  );
  // It would prove nothing if neither had happened.
  expect(repeats).toBeGreaterThan(0);
  expect(failures).toBeGreaterThan(0);
});
