import { afterEach, describe, expect, it, vi } from 'vitest';
import { createPageRequest } from '../../../src/client/browser/api/request.ts';
import { createOfflineQueue, openEntryStore } from '../../../src/client/browser/queue/offline-queue.ts';
import { runQueue } from '../../../src/client/browser/queue/run-queue.ts';
import { shownAfter } from '../../../src/client/browser/state/poll-delay.ts';
import type { NotificationAnswer } from '../../../src/client/browser/state/texts.ts';
import type { Answer } from '../../../src/client/handover/retry-rules.ts';
import { memoryEntries } from '../../support/client/memory-entries.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const notification = { channel: 'email', recipient: 'a@b.example', body: 'x' } as const;

/** What a page has beside a store. */
function stubPage(answer: () => Promise<Response>): void {
  vi.stubGlobal('addEventListener', () => {});
  vi.stubGlobal('removeEventListener', () => {});
  vi.stubGlobal('navigator', { onLine: true, locks: { request: (_: string, step: () => unknown) => step() } });
  vi.stubGlobal('fetch', answer);
}

it('what is not JSON is refused before it is stored, and holds nothing', async () => {
  stubPage(async () => new Response(JSON.stringify({ log_id: 'NL1' }), { status: 202 }));
  const options = { url: 'https://api.example', getToken: async () => 't', name: `json-${Date.now()}` };
  const queue = await createOfflineQueue(options, async () => memoryEntries());
  const cycle: Record<string, unknown> = { ...notification };
  cycle['self'] = cycle;
  for (const given of [{ ...notification, max_retry_count: 3n }, cycle])
    await expect(queue.add(given as never)).rejects.toThrow(TypeError);
  await queue.add(notification);
  await vi.waitFor(async () => {
    expect((await queue.entries()).map(({ state }) => state)).toEqual(['accepted']);
  });
  queue.close();
});

it.each(['http://user:pw@api.example', 'https://api.example ', 'https://api.example?x=1', 'api.example'])(
  'a queue of %j, which no request can be made with, is refused when it is made',
  async (url) => {
    stubPage(async () => new Response());
    const made = createOfflineQueue({ url, getToken: async () => 't' }, async () => memoryEntries());
    await expect(made).rejects.toThrow(TypeError);
  },
);

it('a queue of a page without https, where a browser has no locks, is refused when it is made', async () => {
  stubPage(async () => new Response());
  vi.stubGlobal('navigator', { onLine: true });
  const other = { url: 'https://api.example', getToken: async () => 't' };
  await expect(createOfflineQueue(other, async () => memoryEntries())).rejects.toThrow('secure page');
});

it('a listener that throws neither fails what is stored nor stops the queue, and is told to the page', async () => {
  const reported: unknown[] = [];
  vi.stubGlobal('reportError', (error: unknown) => reported.push(error));
  let sent = 0;
  stubPage(async () => {
    sent += 1;
    return new Response(JSON.stringify({ log_id: `NL${sent}` }), { status: 202 });
  });
  const store = memoryEntries();
  const options = { url: 'https://api.example', getToken: async () => 't', name: `throws-${Date.now()}` };
  const queue = await createOfflineQueue(options, async () => store);
  const events: string[] = [];
  queue.subscribe(() => {
    throw new Error('the page is wrong');
  });
  queue.subscribe(({ type }) => void events.push(type));
  for (let i = 0; i < 2; i++) expect(await queue.add(notification)).toMatchObject({ state: 'waiting' });
  await vi.waitFor(async () => {
    expect((await queue.entries()).map(({ state }) => state)).toEqual(['accepted', 'accepted']);
  });
  expect(events.filter((type) => type === 'accepted')).toHaveLength(2);
  expect(reported.length).toBe(events.length);
  queue.close();
  // What is told after the end reaches nobody, and fails nothing.
  await expect(queue.add(notification)).resolves.toMatchObject({ state: 'waiting' });
});

it('a wait that no timer can take is cut, and does not spin', async () => {
  vi.useFakeTimers();
  let steps = 0;
  const step = async () => {
    steps += 1;
    return 40 * 86_400_000;
  };
  const { wake, close } = runQueue({ exclusively: (run) => run(), step, onFault: () => {} });
  await wake();
  await vi.advanceTimersByTimeAsync(2 ** 31 - 2);
  expect(steps).toBe(1);
  await vi.advanceTimersByTimeAsync(10);
  expect(steps).toBe(2);
  close();
});

it('a queue that is closed while another tab works takes no step more', async () => {
  const step = vi.fn(async () => undefined);
  const turn = Promise.withResolvers<void>();
  const exclusively = async <T>(run: () => Promise<T>) => turn.promise.then(run);
  const { wake, close } = runQueue({ exclusively, step, onFault: () => {} });
  const woken = wake();
  close();
  turn.resolve();
  await woken;
  expect(step).not.toHaveBeenCalled();
});

it.each([
  ['60', 60_000],
  ['86400', 86_400_000],
  [new Date(Date.now() + 40 * 86_400_000).toUTCString(), 3_600_000],
  [new Date(Date.now() - 60_000).toUTCString(), undefined],
])(
  'a wait until a date %s is no longer than an hour, where the clock of the page may be wrong',
  async (header, expected) => {
    vi.stubGlobal('fetch', async () => new Response('{}', { status: 429, headers: { 'retry-after': header } }));
    const request = createPageRequest({ url: 'https://api.example', getToken: async () => 't' });
    const answer = await request('send', '/v1/notifications');
    expect((answer as Answer).retryAfterMs).toBe(expected);
  },
);

describe('a database that the browser closed', () => {
  /** Just enough of IndexedDB to be closed. */
  function databases() {
    const opened: { closed: boolean; onclose?: () => void; onversionchange?: () => void }[] = [];
    const request = <T>(result: T, after?: () => void) => {
      const made: { result: T; error: null; onsuccess?: () => void } = { result, error: null };
      queueMicrotask(() => {
        made.onsuccess?.();
        after?.();
      });
      return made;
    };
    const open = () => {
      const database = {
        closed: false,
        close() {
          database.closed = true;
        },
        transaction() {
          if (database.closed) throw new DOMException('The database connection is closing.', 'InvalidStateError');
          const transaction: { oncomplete?: () => void; objectStore: () => object } = {
            objectStore: () => ({ getAll: () => request([], () => transaction.oncomplete?.()) }),
          };
          return transaction;
        },
      };
      opened.push(database);
      return request(database);
    };
    return { opened, open };
  }

  it.each(['onclose', 'onversionchange', 'silently'] as const)('is opened again at the next use: %s', async (how) => {
    const { opened, open } = databases();
    vi.stubGlobal('indexedDB', { open });
    const store = await openEntryStore('q');
    expect(await store.list()).toEqual([]);
    const [first] = opened;
    if (first === undefined) throw new Error('nothing was opened');
    if (how !== 'onversionchange') first.closed = true;
    if (how !== 'silently') first[how]?.();
    expect(await store.list()).toEqual([]);
    expect(await Promise.all([store.list(), store.list()])).toEqual([[], []]);
    expect(opened).toHaveLength(2);
  });

  it('that never was is named', async () => {
    vi.stubGlobal('indexedDB', undefined);
    await expect(openEntryStore('q')).rejects.toThrow('IndexedDB');
  });
});

describe('what a notification-state element shows', () => {
  const processing: NotificationAnswer = { status: 'processing', canRetry: false };
  const answer = (status: number, json: unknown = {}) => ({ status, json, repeat: false });

  it.each([
    ['an answer', undefined, answer(200, processing), processing],
    ['nothing that is known', processing, answer(503), 'unavailable'],
    ['nothing that is known', processing, 'TypeError', 'unavailable'],
    ['what it showed, at a 429', processing, answer(429), processing],
    ['nothing yet, at a first 429', undefined, answer(429), undefined],
    ['that it does not know, at a 429 after that', 'unavailable', answer(429), 'unavailable'],
  ] as const)('is %s', (_, shown, given, expected) => expect(shownAfter(shown, given)).toEqual(expected));
});
