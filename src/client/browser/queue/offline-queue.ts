import type { Notification } from '../../handover/notification.ts';
import { type HandoverOutcome, noAnswer, outcomeOfAnswer } from '../../handover/retry-rules.ts';
import { type ApiOptions, createPageRequest, type PageRequest } from '../api/request.ts';
import { type EntryStore, firstToSend, isPassedBy, type QueueEntry } from './queue-entry.ts';
import { runQueue } from './run-queue.ts';
import { type QueueEvent, sendNext } from './send-next.ts';

export interface QueueOptions extends ApiOptions {
  /** Its name, `default` unless given; with sign-in the person's id, so that nobody sends what others left behind. */
  readonly name?: string;
}

/** Notifications that a page hands over, now or when the network is back. */
export interface OfflineQueue {
  /**
   * Stores a notification, and sends it after those before it, except those that the API has wait for over five minutes.
   * @param label the page's own words for it, which stay when its content is gone
   * @returns its entry once it is stored
   * @throws TypeError if it is not JSON, DOMException if the browser stores nothing, for example because the disk is full
   */
  add(notification: Notification, label?: string): Promise<QueueEntry>;
  /** All entries, in their order: waiting and failed ones, and those that were accepted in the last seven days. */
  entries(): Promise<QueueEntry[]>;
  /** Sends failed entries again, with their old keys: the one with this id, or all. @returns how many */
  retry(id?: number): Promise<number>;
  /** Forgets an entry. One that is being sent may still arrive. */
  remove(id: number): Promise<void>;
  /** Tells what happens to entries, in all tabs. What a listener throws goes to `reportError`. @returns a function that ends it */
  subscribe(listener: (event: QueueEvent) => void): () => void;
  /** Ends the work of this tab; other tabs go on. */
  close(): void;
}

/** How long accepted entries are kept, so that a page can show what became of them. */
const ACCEPTED_KEPT_MS = 7 * 86_400_000;

/**
 * Opens the queue of this origin, and sends what waits there (retry-and-idempotency-design.md §5).
 * @throws TypeError for the URL; Error where the browser keeps nothing, as some do in private windows: the page hands over without a queue
 */
export async function createOfflineQueue(
  { name = 'default', ...api }: QueueOptions,
  openStore: (name: string) => Promise<EntryStore> = openEntryStore,
): Promise<OfflineQueue> {
  const request = createPageRequest(api);
  const fullName = `notification-retry-${name}`;
  const store = await openStore(fullName);
  if (!navigator.locks) throw new Error('A queue needs a secure page (https, or localhost): others have no locks.');
  const tabs = new BroadcastChannel(fullName);
  const listeners = new Set<(event: QueueEvent) => void>();
  // What a page does with an event is no part of the step that it tells of: the entry is stored, and must be sent.
  const guarded = (act: () => void) => {
    try {
      act();
    } catch (error) {
      reportError(error);
    }
  };
  const tell = (event: QueueEvent) => {
    for (const listener of listeners) guarded(() => listener(event));
  };
  let isOpen = true;
  const emit = (event: QueueEvent) => {
    if (isOpen) guarded(() => tabs.postMessage(event));
    tell(event);
  };
  const isOnline = () => navigator.onLine;
  const ports = { store, send: sender(request), isOnline, emit, now: Date.now, random: Math.random };
  const { wake, close } = runQueue({
    exclusively: (step) => navigator.locks.request(fullName, step),
    step: (anew) => sendNext(ports, anew),
    onFault: (error) => console.error('notification-retry: the queue cannot be read; it is tried again.', error),
  });
  const online = () => void wake(true);
  addEventListener('online', online);
  tabs.onmessage = ({ data }: MessageEvent<QueueEvent>) => {
    tell(data);
    // The tab that was told may have been closed since: this one takes over.
    if (data.type === 'queued' || data.type === 'waiting') void wake();
  };
  await removeOld(store);
  void wake();

  return {
    async add(notification, label) {
      const idempotency_key = crypto.randomUUID();
      // What is not JSON could be stored, and never be sent.
      const said: Notification = JSON.parse(JSON.stringify({ ...notification }));
      const content = { idempotency_key, notification: said, ...(label !== undefined && { label }) };
      const entry = await store.add({ ...content, state: 'waiting', created_at: Date.now(), attempts: 0 });
      emit({ type: 'queued', entry });
      void wake();
      return entry;
    },
    entries: () => store.list(),
    async retry(id) {
      const failed = (await store.list()).filter(
        (one) => one.state === 'failed' && (id === undefined || one.id === id),
      );
      for (const { first_sent_at, reason, problem: _, ...entry } of failed) {
        // The key of an entry that is too old is forgotten, and the person has decided.
        const since = reason === 'too-old' || first_sent_at === undefined ? {} : { first_sent_at };
        const again = { ...entry, ...since, state: 'waiting', attempts: 0 } as const;
        if (await store.replace(again)) emit({ type: 'queued', entry: again });
      }
      void wake();
      return failed.length;
    },
    async remove(id) {
      const entry = (await store.list()).find((one) => one.id === id);
      await store.remove(id);
      if (entry !== undefined) emit({ type: 'removed', entry });
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      close();
      removeEventListener('online', online);
      isOpen = false;
      tabs.close();
    },
  };
}

function sender(request: PageRequest) {
  return async ({ notification, idempotency_key }: QueueEntry): Promise<HandoverOutcome> => {
    const init = { method: 'POST', body: notification ?? {}, idempotencyKey: idempotency_key };
    const answer = await request('send', '/v1/notifications', init);
    if (typeof answer === 'string') return noAnswer(answer);
    const { status, json, repeat, retryAfterMs } = answer;
    const { log_id } = (json ?? {}) as { readonly log_id?: unknown };
    if (status === 202 && typeof log_id === 'string') return { state: 'accepted', log_id, repeat };
    return outcomeOfAnswer(status, json, retryAfterMs);
  };
}

async function removeOld(store: EntryStore): Promise<void> {
  const before = Date.now() - ACCEPTED_KEPT_MS;
  for (const { id, accepted_at = before } of await store.list()) if (accepted_at < before) await store.remove(id);
}

const ENTRIES = 'entries';
const BY_STATE = 'by_state';

/**
 * Entries in an IndexedDB database of this origin. The browser may close it at any time, to free room or after a fault
 * of the disk: it is opened again for the next use.
 * @throws Error where there is no IndexedDB, DOMException where it cannot be opened
 */
export async function openEntryStore(name: string): Promise<EntryStore> {
  if (typeof indexedDB === 'undefined')
    throw new Error('This browser has no IndexedDB: nothing can be kept in a queue.');
  let opened: Promise<IDBDatabase> | undefined;
  const open = (): Promise<IDBDatabase> => {
    const opening = openDatabase(name, () => {
      if (opened === opening) opened = undefined;
    });
    opened = opening;
    // The next use tries again.
    opening.catch(() => {
      if (opened === opening) opened = undefined;
    });
    return opening;
  };
  await open();

  async function begin(mode: IDBTransactionMode): Promise<IDBTransaction> {
    const database = opened ?? open();
    try {
      return (await database).transaction(ENTRIES, mode, { durability: 'strict' });
    } catch (error) {
      if (!(error instanceof DOMException) || error.name !== 'InvalidStateError') throw error;
      // It was closed, and nobody said so.
      if (opened === database) opened = undefined;
      return (await (opened ?? open())).transaction(ENTRIES, mode, { durability: 'strict' });
    }
  }

  /** @returns what `work` returns, once the transaction is on disk */
  async function within<T>(mode: IDBTransactionMode, work: (entries: IDBObjectStore) => Promise<T>): Promise<T> {
    const transaction = await begin(mode);
    const done = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new Error('The browser stored nothing.'));
    });
    const [value] = await Promise.all([work(transaction.objectStore(ENTRIES)), done]);
    return value;
  }

  return {
    add: (entry) =>
      within('readwrite', async (entries) => ({ ...entry, id: Number(await result(entries.add(entry))) })),
    first: (now) =>
      within('readonly', async (entries) => {
        const waiting = async (most?: number): Promise<QueueEntry[]> =>
          result(entries.index(BY_STATE).getAll(IDBKeyRange.bound(['waiting'], ['waiting', []]), most));
        const [first] = await waiting(1);
        return first !== undefined && isPassedBy(first, now) ? firstToSend(await waiting(), now) : first;
      }),
    replace: (entry) =>
      within('readwrite', async (entries) => {
        if ((await result(entries.getKey(entry.id))) === undefined) return false;
        await result(entries.put(entry));
        return true;
      }),
    remove: (id) =>
      within('readwrite', async (entries) => {
        await result(entries.delete(id));
      }),
    list: () => within('readonly', async (entries) => (await result(entries.getAll())) as QueueEntry[]),
  };
}

async function openDatabase(name: string, onClosed: () => void): Promise<IDBDatabase> {
  const opening = indexedDB.open(name, 1);
  opening.onupgradeneeded = () => {
    const entries = opening.result.createObjectStore(ENTRIES, { keyPath: 'id', autoIncrement: true });
    entries.createIndex(BY_STATE, ['state', 'id']);
  };
  const database = await result(opening);
  database.onclose = onClosed;
  // Another tab wants to delete the database, or a later version to change it.
  database.onversionchange = () => {
    database.close();
    onClosed();
  };
  return database;
}

function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
