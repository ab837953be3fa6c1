import type { EntryStore, QueueEntry } from './queue-entry.ts';

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
    first: () =>
      within('readonly', async (entries) => {
        const waiting = IDBKeyRange.bound(['waiting'], ['waiting', []]);
        const [first] = await result(entries.index(BY_STATE).getAll(waiting, 1));
        return first as QueueEntry | undefined;
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
