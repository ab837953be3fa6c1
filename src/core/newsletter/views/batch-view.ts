import { type Batch, EXCLUDED_BATCH } from '../model/batch.ts';
import type { BatchStore } from '../model/ports.ts';

/** What the job keeps on a batch for itself. */
type Internal =
  | 'tenant_id'
  | 'version'
  | 'progress'
  | 'claim_id'
  | 'claim_until'
  | 'provider_failures'
  | 'rendering'
  | 'warmed_domain'
  | 'judges_alone';

export type BatchView = Omit<Batch, Internal>;

function batchView(batch: Batch): BatchView {
  const { tenant_id, version, progress, claim_id, claim_until, provider_failures, rendering, ...rest } = batch;
  const { warmed_domain, judges_alone, ...shown } = rest;
  return shown;
}

/** The batches of an email by number, a page at a time; that of the excluded recipients comes last. */
export async function listBatches(
  email_id: string,
  { limit, after }: { readonly limit: number; readonly after?: string },
  batches: Pick<BatchStore, 'read' | 'from'>,
): Promise<{ readonly batches: readonly BatchView[]; readonly next?: string }> {
  const from = after === undefined ? '00000' : String(Number(after) + 1).padStart(5, '0');
  const found = await batches.from(email_id, from, limit);
  const last = found.at(-1);
  if (found.length === limit && last !== undefined) return { batches: found.map(batchView), next: last.batch_id };
  const excluded = await batches.read(email_id, EXCLUDED_BATCH);
  return { batches: [...found, ...(excluded ? [excluded] : [])].map(batchView) };
}
