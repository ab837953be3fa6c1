import 'fake-indexeddb/auto';
import { describe, expect, it } from 'vitest';
import type { EntryStore, NewEntry } from '../../src/client/browser/queue/queue-entry.ts';
import { memoryEntries } from '../support/client/memory-entries.ts';

const NOW = 1_000_000;

const entry = (body: string, more: Partial<NewEntry> = {}): NewEntry => ({
  state: 'waiting',
  idempotency_key: `key-${body}`,
  notification: { channel: 'email', recipient: 'a@b.example', body },
  created_at: 1_000,
  attempts: 0,
  ...more,
});

// Its types are those of browsers, which the other tests do without: it is loaded, not imported.
const MODULE: string = '../../src/client/browser/queue/offline-queue.ts';
const { openEntryStore }: { openEntryStore(name: string): Promise<EntryStore> } = await import(MODULE);

let serial = 0;
const STORES: readonly (readonly [string, () => Promise<EntryStore>])[] = [
  ['in IndexedDB', () => openEntryStore(`queue-${++serial}`)],
  ['in memory', async () => memoryEntries()],
];

describe.each(STORES)('entries of an offline queue %s', (_, open) => {
  it('get growing ids, and are listed by them with all they have', async () => {
    const store = await open();
    const added = [
      await store.add(entry('a', { label: 'A' })),
      await store.add(entry('b')),
      await store.add(entry('c')),
    ];
    expect(added.map(({ id }) => id)).toEqual(added.map(({ id }) => id).toSorted((a, b) => a - b));
    expect(new Set(added.map(({ id }) => id)).size).toBe(3);
    expect(await store.list()).toEqual(added);
    expect(added[0]).toMatchObject({ ...entry('a'), label: 'A' });
  });

  it('are sent in their order: the first is the oldest that waits', async () => {
    const store = await open();
    expect(await store.first(NOW)).toBeUndefined();
    await store.add(entry('failed', { state: 'failed' }));
    await store.add(entry('accepted', { state: 'accepted' }));
    const oldest = await store.add(entry('oldest'));
    const next = await store.add(entry('next'));
    expect(await store.first(NOW)).toEqual(oldest);
    await store.replace({ ...oldest, state: 'accepted' });
    expect(await store.first(NOW)).toEqual(next);
  });

  it('let those behind them go first while they wait for over five minutes', async () => {
    const store = await open();
    const waits = (ms: number) => ({ not_before: NOW + ms, wait_ms: ms });
    const year = await store.add(entry('year', waits(31_536_000_000)));
    const day = await store.add(entry('day', waits(86_400_000)));
    expect(await store.first(NOW)).toEqual(day);
    const soon = await store.add(entry('soon', waits(300_000)));
    await store.add(entry('next'));
    expect(await store.first(NOW)).toEqual(soon);
    expect(await store.first(NOW + 86_400_000)).toEqual(day);
    expect(await store.first(NOW + 31_536_000_000)).toEqual(year);
  });

  it('are first again in their old place when a person retries them', async () => {
    const store = await open();
    const failed = await store.add(entry('failed', { state: 'failed', attempts: 3 }));
    await store.add(entry('later'));
    await store.replace({ ...failed, state: 'waiting', attempts: 0 });
    expect((await store.first(NOW))?.id).toBe(failed.id);
  });

  it('are replaced as a whole: what the new one lacks is gone', async () => {
    const store = await open();
    const { notification: _gone, ...rest } = await store.add(entry('a', { reason: 'no answer' }));
    expect(await store.replace({ ...rest, state: 'accepted', log_id: 'NL1' })).toBe(true);
    expect(await store.list()).toEqual([{ ...rest, state: 'accepted', log_id: 'NL1' }]);
  });

  it('do not come back by a replacement after they were removed', async () => {
    const store = await open();
    const added = await store.add(entry('a'));
    await store.remove(added.id);
    await store.remove(added.id);
    expect(await store.replace({ ...added, attempts: 1 })).toBe(false);
    expect(await store.list()).toEqual([]);
  });

  it('never get the id of one that was removed', async () => {
    const store = await open();
    const added = await store.add(entry('a'));
    await store.remove(added.id);
    expect((await store.add(entry('b'))).id).toBeGreaterThan(added.id);
  });

  it('are not changed by what the caller does with the object', async () => {
    const store = await open();
    const given = { ...entry('a'), notification: { channel: 'email' as const, recipient: 'a@b.example', body: 'a' } };
    await store.add(given);
    given.notification.body = 'changed';
    expect((await store.list())[0]?.notification).toMatchObject({ body: 'a' });
    const [listed] = await store.list();
    if (listed?.notification !== undefined) Object.assign(listed.notification, { body: 'changed' });
    expect((await store.first(NOW))?.notification).toMatchObject({ body: 'a' });
  });
});

it('entries in IndexedDB are there for the next page that opens the queue', async () => {
  const added = await (await openEntryStore('shared')).add(entry('a'));
  expect(await (await openEntryStore('shared')).list()).toEqual([added]);
});
