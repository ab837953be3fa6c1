import type { Operation, OperationStore } from '../../../core/operator/operations/operation.ts';

/** OperationStore in memory. */
export function createMemoryOperations(): OperationStore {
  const stored = new Map<string, Operation>();
  return {
    async create(operation) {
      const known = stored.get(operation.operation_id);
      if (known !== undefined) return known;
      const first = { ...operation, version: 1 };
      stored.set(operation.operation_id, first);
      return first;
    },
    read: async (operation_id) => stored.get(operation_id),
    async change(was, { set, remove = [] }) {
      const found = stored.get(was.operation_id);
      if (found === undefined || found.version !== was.version) return undefined;
      const next: Record<string, unknown> = { ...found, ...set, version: found.version + 1 };
      for (const name of remove) delete next[name];
      // The columns of an operation, with the change of some of them.
      const changed = next as unknown as Operation;
      stored.set(was.operation_id, changed);
      return changed;
    },
    list: async ({ limit, before = '~' }) =>
      [...stored.values()]
        .filter(({ operation_id }) => operation_id < before)
        .sort((a, b) => (a.operation_id < b.operation_id ? 1 : -1))
        .slice(0, limit),
  };
}
