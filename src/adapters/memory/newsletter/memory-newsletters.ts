import type { Newsletter } from '../../../core/newsletter/model/newsletter.ts';
import type { NewsletterStore } from '../../../core/newsletter/model/ports.ts';

/** NewsletterStore in memory: the twin of dynamodb/newsletter/newsletter-store.ts. */
export function createMemoryNewsletters(): NewsletterStore {
  const newsletters = new Map<string, Newsletter>();
  const key = (tenant_id: string, newsletter_id: string) => JSON.stringify([tenant_id, newsletter_id]);
  return {
    async put(newsletter) {
      const at = key(newsletter.tenant_id, newsletter.newsletter_id);
      const stored = { ...newsletter, created_at: newsletters.get(at)?.created_at ?? newsletter.created_at };
      newsletters.set(at, stored);
      return stored;
    },
    read: async (tenant_id, newsletter_id) => newsletters.get(key(tenant_id, newsletter_id)),
    list: async (tenant_id) =>
      [...newsletters.values()]
        .filter((one) => one.tenant_id === tenant_id)
        .sort((a, b) => (a.newsletter_id < b.newsletter_id ? -1 : 1)),
  };
}
