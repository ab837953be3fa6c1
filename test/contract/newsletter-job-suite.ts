import { describe, expect, it } from 'vitest';
import { EXCLUDED_BATCH } from '../../src/core/newsletter/model/batch.ts';
import { withBits } from '../../src/core/newsletter/model/batch-events.ts';
import type { BatchStore, ChunkStore, EmailStore, EventStore } from '../../src/core/newsletter/model/ports.ts';
import { batchRow, chunkOf, chunkState, emailContent, emailRow } from '../support/newsletter/job-rows.ts';

export interface JobStores {
  readonly emails: EmailStore;
  readonly batches: BatchStore;
  readonly chunks: ChunkStore;
  readonly events: EventStore;
  /** Crashes before its second write. */
  readonly crashing?: EmailStore;
}

let serial = 0;
const freshId = () => `email-${++serial}-${Math.random().toString(36).slice(2)}`;

/** What every storage of newsletters must do (src/core/newsletter/model/ports.ts). */
export function newsletterJobSuite(stores: () => JobStores): void {
  emailSuite(
    () => stores().emails,
    () => stores().crashing ?? stores().emails,
  );
  batchSuite(() => stores().batches);
  chunkSuite(() => stores().chunks);
  eventSuite(stores);
}

function emailSuite(emails: () => EmailStore, crashing: () => EmailStore): void {
  describe('emails', () => {
    it('keeps an email and its content, and the first one of those with the same id', async () => {
      const email = emailRow({ email_id: freshId(), request_hash: 'first' });
      expect(await emails().create(email, emailContent())).toEqual(email);
      const again = await emails().create({ ...email, request_hash: 'second' }, emailContent({ subject: 'Other' }));
      expect(again.request_hash).toBe('first');
      expect(await emails().content(email.email_id)).toEqual(emailContent());
      expect(await emails().read('none')).toBeUndefined();
    });

    it('keeps the content of the request whose row it keeps, whichever crashed in between', async () => {
      const email = emailRow({ email_id: freshId(), request_hash: 'first' });
      await crashing()
        .create(email, emailContent({ subject: 'first' }))
        .catch(() => undefined);
      const kept = await emails().create({ ...email, request_hash: 'second' }, emailContent({ subject: 'second' }));
      expect((await emails().content(email.email_id))?.subject).toBe(kept.request_hash);
      expect(await emails().read(email.email_id)).toEqual(kept);
    });

    it('makes a change once per version, and answers its repetition like the first time', async () => {
      const email = emailRow({ email_id: freshId(), error: 'old' });
      await emails().create(email, emailContent());
      const slots = { 0: { batch_id: '00000', since: email.created_at } };
      const change = { set: { status: 'submitting', slots, claim_id: 'a' }, remove: ['error'] } as const;
      const changed = await emails().change(email, change);
      expect(changed).toMatchObject({ status: 'submitting', version: 2, slots, claim_id: 'a' });
      expect(changed).not.toHaveProperty('error');
      expect(await emails().change(email, change)).toMatchObject({ version: 2, claim_id: 'a' });
      expect(await emails().change(email, { ...change, set: { ...change.set, claim_id: 'b' } })).toBeUndefined();
      expect(await emails().read(email.email_id)).toEqual(changed);
    });

    it('replaces row and content together, or neither', async () => {
      const email = emailRow({ email_id: freshId(), segment: 'status:paid' });
      await emails().create(email, emailContent());
      const change = { set: { replaced_at: email.created_at }, remove: ['segment'] } as const;
      const replaced = await emails().replace(email, change, emailContent({ subject: 'Other' }));
      expect(replaced).toMatchObject({ version: 2, replaced_at: email.created_at });
      expect(replaced).not.toHaveProperty('segment');
      expect(await emails().content(email.email_id)).toEqual(emailContent({ subject: 'Other' }));
      expect(
        await emails().replace(email, { set: { segment: 'late' } }, emailContent({ subject: 'Late' })),
      ).toBeUndefined();
      expect(await emails().content(email.email_id)).toEqual(emailContent({ subject: 'Other' }));
      expect(await emails().read(email.email_id)).toEqual(replaced);
    });

    it('lets one of many simultaneous changes win', async () => {
      const email = emailRow({ email_id: freshId() });
      await emails().create(email, emailContent());
      const won = await Promise.all(
        Array.from({ length: 6 }, (_, i) => emails().change(email, { set: { claim_id: `claim-${i}` } })),
      );
      expect(won.filter((one) => one !== undefined)).toHaveLength(1);
    });

    it('finds what is due, the longest waiting first', async () => {
      const [late, early, future, idle] = await Promise.all(
        ['02', '01', '09', undefined].map(async (hour) => {
          const due = hour === undefined ? {} : { active: 'active', next_at: `2000-01-01T${hour}:00:00.000Z` };
          const email = emailRow({ email_id: freshId(), ...due });
          await emails().create(email, emailContent());
          return email;
        }),
      );
      const found = (await emails().due('2000-01-01T03:00:00.000Z', 100)).map(({ email_id }) => email_id);
      expect(found.filter((id) => [late, early, future, idle].some((email) => email?.email_id === id))).toEqual([
        early?.email_id,
        late?.email_id,
      ]);
      if (early !== undefined) await emails().change(early, { set: {}, remove: ['next_at', 'active'] });
      const later = (await emails().due('2000-01-01T03:00:00.000Z', 100)).map(({ email_id }) => email_id);
      expect(later).not.toContain(early?.email_id);
    });

    it("lists a tenant's emails, newest first, page by page", async () => {
      const tenant_id = freshId();
      for (let i = 0; i < 55; i++) {
        const created_at = new Date(Date.UTC(2026, 0, 1, 0, i)).toISOString();
        await emails().create(emailRow({ email_id: freshId(), tenant_id, created_at }), emailContent());
      }
      const first = await emails().list(tenant_id);
      const second = await emails().list(tenant_id, first.next_cursor);
      const times = [...first.emails, ...second.emails].map(({ created_at }) => created_at);
      expect(times).toHaveLength(55);
      expect(times).toEqual([...times].sort().reverse());
      expect(second.next_cursor).toBeUndefined();
    }, 60_000);
  });
}

function batchSuite(batches: () => BatchStore): void {
  describe('batches', () => {
    it('lists them by number, the excluded one last, and gives them from a number on', async () => {
      const email_id = freshId();
      for (const batch_id of ['00002', EXCLUDED_BATCH, '00000', '00001'])
        await batches().put(batchRow({ email_id, batch_id }));
      const ids = (list: readonly { batch_id: string }[]) => list.map(({ batch_id }) => batch_id);
      expect(ids(await batches().list(email_id))).toEqual(['00000', '00001', '00002', EXCLUDED_BATCH]);
      expect(ids(await batches().from(email_id, '00001', 5))).toEqual(['00001', '00002']);
      expect(ids(await batches().from(email_id, '00000', 1))).toEqual(['00000']);
      await batches().remove(email_id, ['00002', EXCLUDED_BATCH]);
      expect(ids(await batches().list(email_id))).toEqual(['00000', '00001']);
      expect(await batches().list('none')).toEqual([]);
    });

    it('is overwritten by a repeated preparation, and changed once per version', async () => {
      const batch = batchRow({ email_id: freshId() });
      await batches().put(batchRow({ ...batch, chunks: 7 }));
      await batches().put(batch);
      expect(await batches().read(batch.email_id, batch.batch_id)).toEqual(batch);
      const set = {
        status: 'submitting',
        claim_id: 'a',
        counts: { ...batch.counts, pending: 2, submitted: 1 },
      } as const;
      const changed = await batches().change(batch, { set });
      expect(changed).toMatchObject({ ...set, version: 2 });
      expect(await batches().change(batch, { set })).toMatchObject({ version: 2 });
      expect(await batches().change(batch, { set: { ...set, claim_id: 'b' } })).toBeUndefined();
      const freed = changed && (await batches().change(changed, { set: {}, remove: ['claim_id'] }));
      expect(freed).not.toHaveProperty('claim_id');
    });
  });
}

function chunkSuite(chunks: () => ChunkStore): void {
  describe('chunks', () => {
    it('keeps recipients and states, and reads the states of a batch in order', async () => {
      const email_id = freshId();
      const given = [0, 1, 10].map((chunk) => ({
        chunk: chunkOf(2, { email_id, chunk }),
        state: chunkState('..', { email_id, chunk }),
      }));
      await chunks().put(given);
      await chunks().put(given);
      for (const { chunk, state } of given) {
        expect(await chunks().readChunk(chunk)).toEqual(chunk);
        expect(await chunks().readState(chunk)).toEqual(state);
      }
      const read = await chunks().readChunks(email_id, '00000', 0, 9);
      expect(read.map(({ chunk }) => chunk)).toEqual([0, 1]);
      expect(await Promise.all(read.map((sealed) => sealed.open()))).toEqual(given.slice(0, 2).map((one) => one.chunk));
      expect((await chunks().readChunks(email_id, '00000', 10, 10)).map(({ chunk }) => chunk)).toEqual([10]);
      expect(await chunks().readChunks(email_id, '00000', 2, 9)).toEqual([]);
      expect(await chunks().states(email_id, '00000')).toEqual(given.map(({ state }) => state));
      const none = { email_id, batch_id: '00009', chunk: 0 };
      expect(await chunks().readChunk(none)).toBeUndefined();
      expect(await chunks().readState(none)).toBeUndefined();
    });

    it('changes a state once per version, and answers the repetition like the first time', async () => {
      const email_id = freshId();
      const state = chunkState('..', { email_id, tries: { 1: 2 } });
      await chunks().put([{ chunk: chunkOf(2, { email_id }), state }]);
      const call = { call_id: 'a', entries: [0], until: '2026-03-01T10:00:00.000Z' };
      const { email_id: _, batch_id: __, chunk: ___, version: ____, ...columns } = state;
      const open = { states: '>.', call, uncertain_at: call.until, refused_at: { 1: call.until } };
      const claimed = await chunks().change(state, { ...columns, ...open });
      expect(claimed).toEqual({ ...state, version: 2, ...open });
      expect(await chunks().change(state, { ...columns, ...open })).toEqual(claimed);
      const other = { ...call, call_id: 'b' };
      expect(await chunks().change(state, { ...columns, states: '>.', call: other })).toBeUndefined();
      const times = { processed_at: call.until, processed: { '2026-03-01T09:59:00.000Z': [1] } };
      const recorded = { ...columns, states: 's.', tries: {}, message_ids: { 0: 'id' }, ...times };
      const done = claimed && (await chunks().change(claimed, recorded));
      expect(done).toEqual({ ...state, ...recorded, version: 3 });
      expect(await chunks().readState(state)).toEqual(done);
    });
  });
}

function eventSuite(stores: () => JobStores): void {
  it('events of a batch starts empty, adds bits, and lets one of two simultaneous changes win', async () => {
    const { events, batches } = stores();
    const email_id = freshId();
    await batches.put(batchRow({ email_id }));
    const empty = await events.read(email_id, '00000');
    expect(empty).toEqual({ email_id, batch_id: '00000', version: 0, bits: {} });
    const won = await Promise.all([
      events.change(empty, { bits: { delivered: withBits(undefined, [3]) } }),
      events.change(empty, { bits: { opened: withBits(undefined, [999]) } }),
    ]);
    expect(won.filter((one) => one !== undefined)).toHaveLength(1);
    const found = await events.read(email_id, '00000');
    const AT = '2026-03-01T10:00:00.000Z';
    const late = { went_on_at: AT, late_refusals: { rejected: { 8: AT } } };
    const told = { bits: { ...found.bits, clicked: withBits(undefined, [8]) }, ...late };
    expect(await events.change(found, told)).toEqual({ ...found, version: 2, ...told });
    expect(await events.change(found, told)).toMatchObject({ version: 2 });
    expect(await events.list(email_id)).toEqual([{ ...found, version: 2, ...told }]);
    expect(await events.change({ ...found, version: 2 }, { bits: told.bits }), 'what is not told stays').toBeDefined();
    expect(await events.read(email_id, '00000')).toEqual({ ...found, version: 3, ...told });
    expect(await batches.list(email_id)).toHaveLength(1);
  });
}
