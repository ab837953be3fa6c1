import type { DataKeyStore } from '../sealing/data-keys.ts';

/** DataKeys in memory, for tests. */
export function createMemoryDataKeys(): DataKeyStore {
  const keys = new Map<string, Uint8Array>();
  const nameOf = (tenant_id: string, key_id: string) => JSON.stringify([tenant_id, key_id]);
  return {
    find: async (tenant_id, key_id) => keys.get(nameOf(tenant_id, key_id)),
    async add({ tenant_id, key_id }, wrapped) {
      const name = nameOf(tenant_id, key_id);
      const first = keys.get(name);
      if (first === undefined) keys.set(name, Uint8Array.from(wrapped));
      return first;
    },
  };
}
