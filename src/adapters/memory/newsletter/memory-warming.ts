import type { DomainWarming, WarmingStore } from '../../../core/newsletter/warming/domain-warming.ts';
import { VersionedItems } from './versioned-items.ts';

/** The warming of sending domains in memory: a twin of the DynamoDB store that gives the same answers. */
export function createMemoryWarming(): WarmingStore {
  const items = new VersionedItems<DomainWarming>();
  return {
    read: async (domain) => items.get(domain),
    async write(warming) {
      const { domain, version, ...set } = warming;
      if (version > 0 || items.get(domain) !== undefined) {
        return items.change(domain, warming, { set }) !== undefined;
      }
      items.put(domain, { ...warming, version: 1 });
      return true;
    },
  };
}
