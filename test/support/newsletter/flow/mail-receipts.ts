import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { BulkReceipt } from '../../../../src/local/providers/ses/bulk-mails.ts';

/** All mails that the local SES ever accepted, from its file, which survives every kill. */
export async function readReceipts(data_dir: string): Promise<readonly BulkReceipt[]> {
  const found: BulkReceipt[] = [];
  for await (const line of createInterface({ input: createReadStream(`${data_dir}/newsletter-mails.jsonl`) })) {
    // A kill may have cut a line; its mails were never confirmed.
    if (!line.endsWith('}')) continue;
    const { accepted = [] } = JSON.parse(line) as { readonly accepted?: readonly BulkReceipt[] };
    found.push(...accepted);
  }
  return found;
}
