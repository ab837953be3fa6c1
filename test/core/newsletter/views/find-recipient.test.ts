import { describe, expect, it } from 'vitest';
import type { Batch, ChunkKey } from '../../../../src/core/newsletter/model/batch.ts';
import { DEFAULT_JOB_LIMITS } from '../../../../src/core/newsletter/model/job-limits.ts';
import { excludedBatch, OpenBatches } from '../../../../src/core/newsletter/preparation/open-batches.ts';
import { findRecipient } from '../../../../src/core/newsletter/views/list-recipients.ts';
import { emailRow } from '../../../support/newsletter/job-rows.ts';

const AT = '2026-03-01T10:00:00.000Z';
const address = (n: number) => `${String(n).padStart(5, '0')}@example.com`;
const NOTHING = { next_batch: 0, next_excluded_chunk: 0, recipients: 0, own_domain_used: 0, missing_fields: {} };

/** What the preparation freezes of 30,000 addresses: two renderings in turn, every third address excluded, one a crowd. */
function prepared() {
  const email = emailRow();
  const from = { ...NOTHING, excluded: 0, excluded_by_reason: {} };
  const open = new OpenBatches(email, from, DEFAULT_JOB_LIMITS, () => AT);
  const commits = Array.from({ length: 30_000 }, (_, n) => {
    const recipient = (id: string) => ({ member_id: id, member_uuid: `u-${id}`, member_email: address(n) });
    if (n === 300)
      return Array.from({ length: 120 }, (_, i) => open.exclude(recipient(`crowd-${i}`), 'repeated_address'));
    if (n % 3 === 0) return open.exclude(recipient(`m-${n}`), 'suppressed');
    const key = { rendering: n % 2, member_segment: '', fallback_sending_domain: n % 5 === 0 };
    return open.add(recipient(`m-${n}`), key);
  }).flat();
  const all = [...commits, ...open.flush()].flatMap((commit) => commit ?? []);
  const nameOf = ({ batch_id, chunk }: ChunkKey) => `${batch_id} ${chunk}`;
  const chunks = new Map(all.flatMap((one) => one.chunks.map(({ chunk, state }) => [nameOf(chunk), { chunk, state }])));
  const batches: Batch[] = [
    ...all.flatMap(({ batch }) => batch ?? []).sort((a, b) => (a.batch_id < b.batch_id ? -1 : 1)),
    excludedBatch(email, { ...from, ...open.numbers }, AT),
  ];
  return { batches, chunks, nameOf };
}

describe('a member among the recipients of an email', () => {
  const { batches, chunks, nameOf } = prepared();
  let opened = 0;
  const find = (member_id: string, n: number) => {
    opened = 0;
    return findRecipient(
      'email-1',
      { member_id, email_hash: address(n) },
      {
        batches: { list: async () => batches },
        chunks: {
          async readChunk(key) {
            opened += 1;
            return chunks.get(nameOf(key))?.chunk;
          },
          readState: async (key) => chunks.get(nameOf(key))?.state,
        },
        events: { read: async (email_id, batch_id) => ({ email_id, batch_id, version: 0, bits: {} }) },
        hashOf: async (email) => email,
      },
    );
  };

  it.each([1, 2, 3, 4, 5, 49, 50, 299, 301, 14_999, 29_997, 29_998, 29_999])(
    'is found wherever it was frozen, by few of all chunks: %i',
    async (n) => {
      const state = n % 3 === 0 ? { state: 'excluded', reason: 'suppressed' } : { state: 'pending' };
      expect(await find(`m-${n}`, n)).toMatchObject({ member_id: `m-${n}`, ...state, events: [] });
      expect(opened).toBeLessThan(60);
    },
  );

  it.each([0, 49, 50, 99, 119])('is found among many of one address: %i', async (i) => {
    expect(await find(`crowd-${i}`, 300)).toMatchObject({ member_id: `crowd-${i}`, reason: 'repeated_address' });
  });

  it('is not found where another has its address, or nobody', async () => {
    expect([await find('stranger', 4), await find('m-4', 9_000), await find('m-4', 30_001)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('is not known where the recipients have expired', async () => {
    const gone = new Map(chunks);
    chunks.clear();
    expect(await find('m-4', 4)).toEqual({ state: 'expired' });
    for (const [name, chunk] of gone) chunks.set(name, chunk);
  });
});
