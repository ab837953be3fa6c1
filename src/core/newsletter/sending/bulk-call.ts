import type { Batch } from '../model/batch.ts';
import type { Chunk } from '../model/chunk.ts';
import { mergeValues } from '../model/merge-fields.ts';
import type { Newsletter } from '../model/newsletter.ts';
import type { BulkEntry } from '../model/provider.ts';
import type { SendDeps } from './send-deps.ts';

/** The entries of a call: places in the chunk, in order. */
export function bulkEntries(
  chunk: Chunk,
  places: readonly number[],
  unsubscribeUrl: SendDeps['unsubscribeUrl'],
): Promise<readonly BulkEntry[]> {
  const { email_id, batch_id, chunk: number } = chunk;
  return Promise.all(
    places.map(async (n) => {
      const recipient = chunk.recipients[n];
      if (recipient === undefined) throw new Error(`Chunk ${number} of batch ${batch_id} has no recipient ${n}.`);
      const unsubscribe_url = await unsubscribeUrl({ email_id, batch_id, chunk: number, n });
      return {
        to: recipient.member_email,
        values: { ...mergeValues(recipient), unsubscribe_url },
        unsubscribe_url,
        tags: { email_id, chunk: `${batch_id}-${number}`, n: String(n) },
      };
    }),
  );
}

/** The From address of a batch: that of the newsletter, at the sending domain or the fallback domain. */
export function fromAddress(
  newsletter: Newsletter,
  { fallback_sending_domain }: Pick<Batch, 'fallback_sending_domain'>,
) {
  const { from, sending_domain, fallback_domain } = newsletter;
  const domain = fallback_sending_domain ? fallback_domain : sending_domain;
  return domain === undefined ? from : from.replace(/@[^@>\s]+(>?)\s*$/, `@${domain}$1`);
}
