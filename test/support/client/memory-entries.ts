import { type EntryStore, firstToSend, type QueueEntry } from '../../../src/client/browser/queue/queue-entry.ts';

/** The entries of an offline queue in memory: the twin of IndexedDB. */
export function memoryEntries(): EntryStore {
  const entries = new Map<number, QueueEntry>();
  let last = 0;
  return {
    async add(entry) {
      const stored = { ...structuredClone(entry), id: ++last };
      entries.set(stored.id, stored);
      return structuredClone(stored);
    },
    async first(now) {
      const waiting = [...entries.values()].filter(({ state }) => state === 'waiting');
      return structuredClone(
        firstToSend(
          waiting.sort((a, b) => a.id - b.id),
          now,
        ),
      );
    },
    async replace(entry) {
      if (!entries.has(entry.id)) return false;
      entries.set(entry.id, structuredClone(entry));
      return true;
    },
    async remove(id) {
      entries.delete(id);
    },
    list: async () => structuredClone([...entries.values()].sort((a, b) => a.id - b.id)),
  };
}
