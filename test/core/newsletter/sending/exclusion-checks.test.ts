import { describe, expect, it } from 'vitest';
import { Lease } from '../../../../src/core/model/changes.ts';
import { batchLease } from '../../../../src/core/newsletter/lifecycle/plan-slots.ts';
import { HeldBatch } from '../../../../src/core/newsletter/sending/held-batch.ts';
import type { SendDeps } from '../../../../src/core/newsletter/sending/send-deps.ts';
import {
  batchFor,
  chunkOf,
  chunkState,
  emailContent,
  emailRow,
  recipient,
} from '../../../support/newsletter/job-rows.ts';
import { JobWorld } from '../../../support/newsletter/job-world.ts';

/** A batch in the hands of its sender; the address of recipient n of chunk c is `c<c>m<n>@example.com`. */
async function sending(chunks: readonly string[], altered?: number) {
  const world = await JobWorld.of({}, {}, { chunk_size: 50 });
  const states = chunks.map((codes, chunk) => chunkState(codes, { chunk }));
  await world.chunks.store.put(
    states.map((state, c) => ({
      chunk: {
        ...chunkOf(state.states.length, { chunk: c }),
        recipients: [...state.states].map((_, n) => recipient(n, { member_email: `c${c}m${n}@example.com` })),
      },
      state,
    })),
  );
  const batch = batchFor(states);
  await world.tables.batches.put(batch);
  const asked: string[][] = [];
  const exclusions: SendDeps['exclusions'] = {
    async check(_, recipients) {
      asked.push(recipients.map(({ member_email }) => member_email));
      return recipients.map(({ member_email }) => world.unsubscribed.get(member_email));
    },
  };
  const { store } = world.chunks;
  const readChunks: typeof store.readChunks = async (...range) =>
    (await store.readChunks(...range)).map((sealed) =>
      sealed.chunk === altered ? { ...sealed, open: () => Promise.reject(new Error('altered')) } : sealed,
    );
  const deps = { ...world.deps(), exclusions, chunks: { ...store, readChunks } };
  const lease = new Lease(batch, batchLease(batch, deps.limits.sender_lease_ms, deps));
  const work = new HeldBatch(
    { email: emailRow(), read_at: world.now, content: emailContent(), lease, slot: '0' },
    deps,
  );
  await work.reload();
  /** As sendChunk asks, for all that is pending. */
  const check = async (number: number) => {
    const chunk = await work.reader.chunk(number);
    if (chunk === undefined) throw new Error('the chunk cannot be read');
    const places = [...(chunks[number] ?? '')].flatMap((code, n) => (code === '.' ? [n] : []));
    return Object.fromEntries(await work.checks.of(chunk, places, work));
  };
  const unsubscribe = (address: string) => world.unsubscribed.set(`${address}@example.com`, 'unsubscribed');
  const counts = () => asked.map(({ length }) => length);
  return { world, check, unsubscribe, asked, counts };
}

describe('what is known of addresses when their chunk goes out', () => {
  it('is asked for two chunks at once while a chunk takes less than a second', async () => {
    const { world, check, unsubscribe, counts } = await sending(['..', '..', 's.', '..', '..']);
    unsubscribe('c2m1');
    for (const [chunk, found] of [{}, {}, { 1: 'unsubscribed' }, {}, {}].entries()) {
      expect(await check(chunk)).toEqual(found);
      world.advance(200);
    }
    expect(counts()).toEqual([2, 3, 4]);
  });

  it('is asked again when it is older than a second', async () => {
    const { world, check, unsubscribe, counts } = await sending(['..', '..', '..']);
    await check(0);
    await check(1);
    unsubscribe('c2m0');
    world.advance(1_001);
    expect(await check(2)).toEqual({ 0: 'unsubscribed' });
    expect(counts()).toEqual([2, 4, 2]);
  });

  it('is asked chunk by chunk where a chunk takes longer', async () => {
    const { world, check, counts } = await sending(['..', '..', '..']);
    for (const chunk of [0, 1, 2]) {
      await check(chunk);
      world.advance(1_500);
    }
    expect(counts()).toEqual([2, 2, 2]);
  });

  it('is asked again for the later calls of a chunk', async () => {
    const { check, unsubscribe, counts } = await sending(['..', '..', '..']);
    await check(0);
    await check(1);
    await check(2);
    unsubscribe('c2m1');
    expect(await check(2)).toEqual({ 1: 'unsubscribed' });
    expect(counts()).toEqual([2, 4, 2]);
  });

  it('is asked for one chunk where the next one cannot be decrypted', async () => {
    const { check, counts } = await sending(['..', '..', '..'], 2);
    await check(0);
    expect(await check(1)).toEqual({});
    expect(counts()).toEqual([2, 2]);
    await expect(check(2)).rejects.toThrow('could not open a chunk');
  });
});
