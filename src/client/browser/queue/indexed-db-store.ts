import type { EntryStore, QueueEntry } from './queue-entry.ts';

const ENTRIES = 'entries';
const BY_STATE = 'by_state';

/** Entries in an IndexedDB database of this origin. */
export async function openEntryStore(name: string): Promise<EntryStore> {
  const opening = indexedDB.open(name, 1);
  opening.onupgradeneeded = () => {
    const entries = opening.result.createObjectStore(ENTRIES, { keyPath: 'id', autoIncrement: true });
    entries.createIndex(BY_STATE, ['state', 'id']);
  };
  const database = await result(opening);
  // Another tab wants to delete the database, or a later version to change it.
  database.onversionchange = () => database.close();

  /** @returns what `work` returns, once the transaction is on disk */
  async function within<T>(mode: IDBTransactionMode, work: (entries: IDBObjectStore) => Promise<T>): Promise<T> {
    const transaction = database.transaction(ENTRIES, mode, { durability: 'strict' });
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

function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
