import { expect } from 'vitest';
import { eventually } from '../../local/tiny-app.ts';
import type { NewsletterClient } from './newsletter-client.ts';

export const MEMBERS = 200;

/** Addresses that the local SES treats in a special way, by their place among the members. */
const SPECIAL: Readonly<Record<number, string>> = { 7: 'missing', 77: 'flaky-1', 177: 'bounce' };

export const members = Array.from({ length: MEMBERS }, (_, i) => ({
  email: `${SPECIAL[i] ?? 'reader'}+${i}@example.com`,
  ...(i % 3 === 0 && { name: `Reader ${i}` }),
}));

export const BODY = '# News\n\nDear {name, "reader"},\n\n{{ stays }} as it is.';

/** Waits until the email has ended. At every read the counts must add up. */
export function ended(client: NewsletterClient, email_id: string, within_ms: number) {
  return eventually(async () => {
    const found = await client.status(email_id);
    const { recipients, pending, submitted, excluded, failed, uncertain } = found.counts;
    expect(pending + submitted + excluded + failed + uncertain).toBe(recipients);
    return found.status === 'submitted' || found.status === 'failed' ? found : undefined;
  }, within_ms);
}
