import { describe, expect, it } from 'vitest';
import { bodyOf } from '../../../bench/setup/body.ts';
import { itemSize } from '../../../bench/setup/item-size.ts';
import { failedRow } from '../../../bench/setup/rows.ts';
import { toItem } from '../../../src/adapters/dynamodb/table/item.ts';
import { MemoryTables } from '../../../src/adapters/memory/memory-tables.ts';
import { recipientHash } from '../../../src/adapters/recipient/recipient-hash.ts';
import { deliver } from '../../../src/core/delivery/deliver.ts';
import { PASS_THROUGH } from '../../../src/core/delivery/provider-gate.ts';
import { indexRow } from '../../../src/core/indexing/index-row.ts';
import { DEFAULT_RETRY_POLICY as policy } from '../../../src/core/model/retry-policy.ts';
import { messageFor, received, T0 } from '../../support/rows.ts';

/** A write costs one unit per started kilobyte, and every attempt writes its row twice: the row stays below one. */
describe('a row with every column of the table document', () => {
  it.each([
    ['an integration', { integration: '5b7c3a2e-0d55-4b43-9a3e-0c9f6f9c2b11' }],
    ['the host of its recipient instead', {}],
  ])('and %s stays below a kilobyte when it is to be retried', async (_, more) => {
    const clock = () => T0;
    const tables = new MemoryTables(clock);
    const recipient = `https://${'long-name-of-a-host.'.repeat(4)}example.com/hooks/1`;
    const image = failedRow({ channel: 'webhook', recipient, body: bodyOf(2_000), ...more }, T0);
    const log_id = String(image['log_id']);
    tables.log.set(log_id, { ...image });
    expect(await indexRow({ row: image, sequence: '1' }, { store: tables, policy, clock })).toEqual({
      outcome: 'indexed',
    });
    const row = tables.row(log_id);
    if (row === undefined) throw new Error('The row is gone.');
    const message = 'the endpoint answered 503';
    await deliver(
      received(messageFor(row, { run_id: 'sweep-5b7c3a2e-0d55-4b43-9a3e-0c9f6f9c2b11' }), {
        message_id: '5b7c3a2e-0d55-4b43-9a3e-0c9f6f9c2b11',
      }),
      {
        rows: tables.rows,
        records: tables.records,
        contents: tables.contents,
        sender: { send: async () => ({ ok: false, error_type: 'SERVER_OVERLOAD', response_code: '503', message }) },
        gate: PASS_THROUGH,
        successors: tables.successors,
        retries: { send: async () => {} },
        policy,
        clock,
        random: () => 0,
        claim_ms: 65_000,
        pause: async () => {},
        sendTimeout: () => new AbortController().signal,
      },
      false,
    );
    const ended = tables.log.get(log_id);
    expect(ended).toMatchObject({ send_status: 'RETRY', recipient_hash: expect.any(String) });
    const size = itemSize(toItem({ ...ended, recipient_hash: recipientHash('key', 'TENANT001', recipient) }));
    expect(size).toBeLessThanOrEqual(1024);
  });
});
