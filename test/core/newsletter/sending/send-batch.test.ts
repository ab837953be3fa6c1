import { describe, expect, it } from 'vitest';
import { parseMessage } from '../../../../src/adapters/sqs/message-bodies.ts';
import { sendMessage } from '../../../../src/adapters/sqs/newsletter-messages.ts';
import { isoAfter } from '../../../../src/core/model/time.ts';
import { advance } from '../../../../src/core/newsletter/lifecycle/advance.ts';
import { retryEmail } from '../../../../src/core/newsletter/lifecycle/operate.ts';
import { UnreadableChunkError } from '../../../../src/core/newsletter/model/batch.ts';
import { withBits } from '../../../../src/core/newsletter/model/batch-events.ts';
import { EMAIL_CONCURRENCY } from '../../../../src/core/newsletter/model/email.ts';
import { StorageUnavailableError } from '../../../../src/core/newsletter/model/job-limits.ts';
import type { BulkAnswer, BulkCall, Refusal } from '../../../../src/core/newsletter/model/provider.ts';
import { recordLate } from '../../../../src/core/newsletter/sending/note-answer.ts';
import { sendBatch } from '../../../../src/core/newsletter/sending/send-batch.ts';
import { batchFor, chunkOf, chunkState } from '../../../support/newsletter/job-rows.ts';
import { JobWorld } from '../../../support/newsletter/job-world.ts';

const MESSAGE = { version: 1, kind: 'batch', email_id: 'email-1', batch_id: '00000', slot: '0' } as const;
const PREPARED = { excluded: 0, excluded_by_reason: {}, at: '2026-03-01T09:00:00.000Z' };

/** An email in the middle of its sending: its first batch has a slot and `chunks`, the second one waits. */
async function sending(chunks: readonly string[], chunk_size = 4) {
  const since = '2026-03-01T10:00:00.000Z';
  const world = await JobWorld.of(
    {
      status: 'submitting',
      slots: { 0: { batch_id: '00000', since } },
      prepared: { ...PREPARED, recipients: chunks.join('').length + 1, batches: 2 },
    },
    {},
    { chunk_size, concurrency: 1 },
  );
  const states = chunks.map((codes, chunk) => chunkState(codes, { chunk }));
  await world.chunks.store.put(
    states.map((state) => ({ chunk: chunkOf(state.states.length, { chunk: state.chunk }), state })),
  );
  await world.tables.batches.put(batchFor(states));
  await world.tables.batches.put(batchFor([chunkState('.')], { batch_id: '00001' }));
  return world;
}

const refuse = (kind: Refusal['class']) =>
  ({ kind: 'refused', refusal: { class: kind, reason: `because_${kind}`, message: 'No.' } }) as const;
const accept = (call: BulkCall): BulkAnswer => ({
  kind: 'answered',
  entries: call.entries.map(({ to }) => ({ accepted: true, message_id: to })),
});

describe('a batch in its slot', () => {
  it('is sent chunk by chunk, then its slot goes to the next batch', async () => {
    const world = await sending(['....', '..']);
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'submitted', counts: { submitted: 6 } });
    expect(world.calls.map(({ entries }) => entries.length)).toEqual([4, 2]);
    expect(world.calls[1]?.entries[1]).toMatchObject({
      to: 'm1@example.com',
      tags: { email_id: 'email-1', chunk: '00000-1', n: '1-hash' },
      values: { email: 'm1@example.com', unsubscribe_url: 'https://example.com/u' },
    });
    const [batch] = await world.batches();
    expect(batch).toMatchObject({ status: 'submitted', provider_id: 'id-1-0', counts: { pending: 0, submitted: 6 } });
    expect(batch).not.toHaveProperty('claim_id');
    expect(world.sends).toEqual([{ ...MESSAGE, batch_id: '00001' }]);
    expect(world.log[0]).toBe('Sending batch 00000 for email email-1');
  });

  it('is sent by a retry after a deployment with fewer retries, although its recipients had more tries', async () => {
    const world = await sending([]);
    await world.chunks.store.put([{ chunk: chunkOf(2), state: chunkState('..', { tries: { 0: 7, 1: 7 } }) }]);
    await world.tables.batches.put(batchFor([chunkState('..')], { status: 'failed' }));
    await world.tables.emails.change(await world.email(), { set: { status: 'failed', slots: {} } });
    world.limits = { ...world.limits, provider: { ...world.limits.provider, retries: 2 } };
    await retryEmail('email-1', world.deps());
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'submitted', counts: { submitted: 2 } });
  });

  it('is sent once for two messages', async () => {
    const world = await sending(['....', '..']);
    const results = await Promise.all([sendBatch(MESSAGE, world.deps()), sendBatch(MESSAGE, world.deps())]);
    expect(results.map(({ result }) => result).sort()).toEqual(['duplicate', 'submitted']);
    expect(world.calls).toHaveLength(2);
    expect(await sendBatch(MESSAGE, world.deps())).toEqual({ result: 'stale' });
  });

  it('leaves out who unsubscribed since the preparation', async () => {
    const world = await sending(['...', '.']);
    world.unsubscribed.set('m1@example.com', 'unsubscribed');
    await sendBatch(MESSAGE, world.deps());
    expect(world.calls[0]?.entries.map(({ to }) => to)).toEqual(['m0@example.com', 'm2@example.com']);
    expect(await world.states()).toBe('sxss');
    expect((await world.batches())[0]).toMatchObject({ excluded_by_reason: { unsubscribed: 1 } });
  });

  it('writes its counts every two seconds while it sends, and at the end', async () => {
    const world = await sending(Array.from({ length: 20 }, () => '....'));
    const deps = world.deps();
    const written: { at: number; submitted: number }[] = [];
    const begun = world.now.getTime();
    const batches = {
      ...deps.batches,
      change: (...[batch, change]: Parameters<typeof deps.batches.change>) => {
        const { counts } = change.set;
        if (counts !== undefined) written.push({ at: world.now.getTime() - begun, submitted: counts.submitted });
        return deps.batches.change(batch, change);
      },
    };
    world.answer = (call) => {
      world.advance(300);
      return accept(call);
    };
    await sendBatch(MESSAGE, { ...deps, batches });
    expect(written).toEqual([
      { at: 2_100, submitted: 28 },
      { at: 4_200, submitted: 56 },
      { at: 6_000, submitted: 80 },
    ]);
  });

  it('reads the recipients of ten chunks at once, and only of chunks that have somebody to send to', async () => {
    const world = await sending([...Array.from({ length: 12 }, () => '..'), 'ss', 'ss']);
    const deps = world.deps();
    const read: (readonly [number, number])[] = [];
    const chunks = {
      ...deps.chunks,
      readChunks: (...[email_id, batch_id, from, to]: Parameters<typeof deps.chunks.readChunks>) => {
        read.push([from, to]);
        return deps.chunks.readChunks(email_id, batch_id, from, to);
      },
    };
    expect(await sendBatch(MESSAGE, { ...deps, chunks })).toMatchObject({ result: 'submitted' });
    expect(read).toEqual([
      [0, 9],
      [10, 11],
    ]);
  });

  it('sends the chunks before one that cannot be decrypted', async () => {
    const world = await sending(['..', '..', '..']);
    const deps = world.deps();
    const chunks = {
      ...deps.chunks,
      readChunks: async (...args: Parameters<typeof deps.chunks.readChunks>) =>
        (await deps.chunks.readChunks(...args)).map((sealed) =>
          sealed.chunk === 2 ? { ...sealed, open: () => Promise.reject(new Error('altered')) } : sealed,
        ),
    };
    await expect(sendBatch(MESSAGE, { ...deps, chunks })).rejects.toThrow(StorageUnavailableError);
    expect(await world.states()).toBe('ssss..');
  });

  it('sends all but a chunk that can never be read, and fails with the reason', async () => {
    const world = await sending(['..', '..', '..']);
    const deps = world.deps();
    let opened = 0;
    const readChunks: typeof deps.chunks.readChunks = async (...args) =>
      (await deps.chunks.readChunks(...args)).map((sealed) => ({
        ...sealed,
        open: async () => {
          opened += sealed.chunk === 1 ? 1 : 0;
          if (sealed.chunk === 1) throw new UnreadableChunkError('altered');
          return sealed.open();
        },
      }));
    const begun = world.now.getTime();
    expect(await sendBatch(MESSAGE, { ...deps, chunks: { ...deps.chunks, readChunks } })).toMatchObject({
      result: 'failed',
    });
    expect(await world.states()).toBe('ss..ss');
    expect([opened <= 2, world.now.getTime() - begun], 'no retries of storage').toEqual([true, 0]);
    expect((await world.batches())[0]).toMatchObject({
      status: 'failed',
      counts: { pending: 2, submitted: 4 },
      error_message: 'Nobody can read 2 recipients of the batch any more: altered.',
      error_data: JSON.stringify({ code: 'BULK_EMAIL_SEND_FAILED', reason: 'unreadable_recipients' }),
    });
  });

  it('ends recipients whose addresses have expired, and so the email', async () => {
    const world = await sending(['..', '.s', '..']);
    await world.tables.batches.put(batchFor([chunkState('s')], { batch_id: '00001', status: 'submitted' }));
    const deps = world.deps();
    const readChunks: typeof deps.chunks.readChunks = async (...args) =>
      (await deps.chunks.readChunks(...args)).filter(({ chunk }) => chunk !== 1);
    expect(await sendBatch(MESSAGE, { ...deps, chunks: { ...deps.chunks, readChunks } })).toMatchObject({
      result: 'submitted',
    });
    expect(await world.states()).toBe('ssfsss');
    expect((await world.batches())[0]).toMatchObject({
      status: 'submitted',
      counts: { pending: 0, failed: 1, submitted: 5 },
      failed_by_reason: { expired: 1 },
    });
    expect(await world.email()).toMatchObject({ status: 'submitted', failed_recipients: 1 });
  });

  it('takes no more than pacing grants in one call', async () => {
    const world = await sending(['....']);
    world.reserve = (count) => ({ granted: Math.min(3, count) });
    await sendBatch(MESSAGE, world.deps());
    expect(world.calls.map(({ entries }) => entries.length)).toEqual([3, 1]);
  });

  it('waits in its slot for a short time, and gives it back for a long one', async () => {
    const world = await sending(['....']);
    const grants = [0, 0];
    const waits = [5_000, 3_600_000];
    world.reserve = () => ({
      granted: grants.shift() ?? 4,
      retry_at: new Date(world.now.getTime() + (waits.shift() ?? 0)).toISOString(),
    });
    const begun = world.now.getTime();
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'waiting' });
    expect(world.now.getTime() - begun).toBe(5_000);
    const ask_at = new Date(begun + 5_000 + 240_000).toISOString();
    // No batch would get an allowance before, but for what nobody foresees.
    const hold = { for: 'rate', until: new Date(begun + 3_605_000).toISOString(), ask_at };
    expect(await world.email()).toMatchObject({ slots: {}, hold, next_at: ask_at });
    expect(world.sends).toEqual([]);
  });

  it('isolates the one entry that makes the provider refuse the call, and the others arrive', async () => {
    const world = await sending(['........'], 8);
    world.answer = (call) => (call.entries.some(({ to }) => to.startsWith('m5@')) ? refuse('content') : accept(call));
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'submitted' });
    expect(await world.states()).toBe('sssssfss');
    expect(world.calls.length).toBeLessThan(10);
    expect((await world.batches())[0]).toMatchObject({ failed_by_reason: { because_content: 1 } });
  });

  it('makes the email hold for a post that is refused for everybody, after few calls, and nobody is lost', async () => {
    const world = await sending(
      Array.from({ length: 20 }, () => '.'.repeat(50)),
      50,
    );
    world.answer = () => refuse('content');
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'waiting', counts: { pending: 1000 } });
    expect(world.calls.length).toBeLessThan(20);
    expect((await world.batches())[0]).toMatchObject({ status: 'pending', counts: { pending: 1000, failed: 0 } });
    const ask_at = isoAfter(world.now, 10_000);
    expect(await world.email()).toMatchObject({ slots: {}, hold: { for: 'refused', message: 'No.', ask_at } });
    expect(world.counted).toEqual(['failed']);
    world.answer = accept;
    world.advance(10_000);
    await advance('email-1', world.deps());
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'submitted', counts: { submitted: 1000 } });
    expect(await world.email()).not.toHaveProperty('hold');
  });

  it('makes the email hold, too, where the provider accepted others before, and refuses entry by entry', async () => {
    const world = await sending(['....', '............'], 12);
    const { refusal } = refuse('recipient');
    world.answer = (call) =>
      world.calls.length === 1
        ? accept(call)
        : { kind: 'answered', entries: call.entries.map(() => ({ accepted: false, refusal })) };
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'waiting' });
    expect(await world.states()).toBe('ssss............');
    expect((await world.email()).hold).toMatchObject({ for: 'refused' });
  });

  it.each([
    ['the first ones', ['m0@', 'm1@'], 'ffssssss'],
    ['one between', ['m6@'], 'ssssssfs'],
  ])('fails %s alone whom the provider refuses, and the others arrive', async (_, bad, states) => {
    const world = await sending(['........'], 8);
    const isBad = (call: BulkCall) => call.entries.some(({ to }) => bad.some((one) => to.startsWith(one)));
    world.answer = (call) => (isBad(call) ? refuse('content') : accept(call));
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'submitted' });
    expect(await world.states()).toBe(states);
  });

  it.each([
    ['the last one', '........', ['m7@'], 'sssssssf'],
    ['everybody of a small audience', '..', ['m0@', 'm1@'], 'ff'],
  ])('waits for the others before it fails %s whom the provider refuses', async (_, chunk, bad, states) => {
    const world = await sending([chunk], 8);
    const isBad = (call: BulkCall) => call.entries.some(({ to }) => bad.some((one) => to.startsWith(one)));
    world.answer = (call) => (isBad(call) ? refuse('content') : accept(call));
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'waiting', counts: { failed: 0 } });
    expect(world.sends).toEqual([{ ...MESSAGE, batch_id: '00001' }]);
    const other = (await world.batches())[1] ?? batchFor([]);
    await world.tables.batches.change(other, { set: { status: 'submitted' } });
    world.advance(1_000);
    await advance('email-1', world.deps(), { slot: '0', batch_id: '00001' });
    const calls = world.calls.length;
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'submitted' });
    expect(await world.states()).toBe(states);
    expect(world.calls, 'nobody is called for twice').toHaveLength(calls);
    expect(await world.email()).toMatchObject({ status: 'submitted' });
  });

  it('waits for the others, too, where its sender ended before the slot was theirs, and its message comes again', async () => {
    const world = await sending(['..']);
    const refused = { accepted: false, refusal: refuse('recipient').refusal } as const;
    world.answer = (call) => ({ kind: 'answered', entries: call.entries.map(() => refused) });
    const deps = world.deps();
    const failing: typeof deps.emails.change = async (was, change) => {
      if (change.set.slots !== undefined) throw new Error('Nobody answers.');
      return deps.emails.change(was, change);
    };
    await expect(sendBatch(MESSAGE, { ...deps, emails: { ...deps.emails, change: failing } })).rejects.toThrow(
      'unavailable',
    );
    expect((await world.batches())[0]).toMatchObject({ status: 'pending' });
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'waiting', counts: { failed: 0 } });
    expect(world.sends).toEqual([{ ...MESSAGE, batch_id: '00001' }]);
  });

  it('forgets who was refused while events said that everybody is, when a mail is accepted', async () => {
    const world = await sending(['....']);
    const at = world.now.toISOString();
    const hold = { for: 'refused', late: true, reason: 'rendering_failure', asked: 0, since: at, ask_at: at } as const;
    const refusals = { round: 0, batches: { '00001': { because_recipient: 3 } } };
    await world.tables.emails.change(await world.email(), { set: { hold, refusals } });
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'waiting', counts: { submitted: 4 } });
    expect(await world.email()).toMatchObject({ hold: { late: true }, refusals: { round: 1, batches: {} } });
  });

  it('gives its slot to a batch that waits while it waits for single recipients, and goes on later', async () => {
    const world = await sending(['....']);
    world.answer = (call) => ({
      kind: 'answered',
      entries: call.entries.map(({ to }) =>
        to.startsWith('m2@') && world.calls.length < 2
          ? { accepted: false, refusal: refuse('transient').refusal }
          : { accepted: true, message_id: to },
      ),
    });
    const until = isoAfter(world.now, 10_000);
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'waiting', until });
    expect(world.sends).toEqual([{ ...MESSAGE, batch_id: '00001' }]);
    expect((await world.batches())[0]).toMatchObject({ status: 'pending', not_before: until, counts: { pending: 1 } });
    await sendBatch({ ...MESSAGE, batch_id: '00001' }, world.deps());
    world.advance(10_000);
    await advance('email-1', world.deps());
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'submitted' });
    expect(await world.states()).toBe('ssss');
  });

  it('gives its slot away after a refused call among answered ones, and counts it when it goes on', async () => {
    const world = await sending(['....', '....']);
    world.answer = (call) => (world.calls.length === 2 ? refuse('overloaded') : accept(call));
    const until = isoAfter(world.now, 10_000);
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'waiting', until });
    expect(world.sends).toEqual([{ ...MESSAGE, batch_id: '00001' }]);
    expect((await world.batches())[0]).toMatchObject({ status: 'pending', not_before: until, provider_failures: 1 });
    await sendBatch({ ...MESSAGE, batch_id: '00001' }, world.deps());
    world.advance(10_000);
    await advance('email-1', world.deps());
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'submitted' });
    expect(await world.states()).toBe('ssssssss');
  });

  it('keeps its slot while the provider refuses every call: another batch would be refused, too', async () => {
    const world = await sending(['....', '....']);
    world.answer = (call) => (world.calls.length > 2 ? accept(call) : refuse('overloaded'));
    const begun = world.now.getTime();
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'submitted' });
    expect(world.now.getTime() - begun).toBe(10_000 + 20_000);
    expect(world.sends).toEqual([{ ...MESSAGE, batch_id: '00001' }]);
  });

  it('tries a recipient again within the batch that the provider refused for the time being', async () => {
    const world = await sending(['....']);
    await world.tables.batches.remove('email-1', ['00001']);
    world.answer = (call) => ({
      kind: 'answered',
      entries: call.entries.map(({ to }) =>
        to.startsWith('m2@') && world.calls.length < 3
          ? { accepted: false, refusal: refuse('transient').refusal }
          : { accepted: true, message_id: to },
      ),
    });
    const begun = world.now.getTime();
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'submitted' });
    expect(world.calls.map(({ entries }) => entries.length)).toEqual([4, 1, 1]);
    expect(world.now.getTime() - begun).toBe(10_000 + 20_000);
  });

  it.each([
    ['account', 'account'],
    ['settings', 'settings'],
    ['unverified', 'sender'],
  ] as const)('makes the email hold where somebody has to mend something (%s), and asks again', async (kind, why) => {
    const world = await sending(['....']);
    await world.tables.batches.remove('email-1', ['00001']);
    world.answer = () => refuse(kind);
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'waiting', counts: { pending: 4 } });
    for (const [asked, seconds] of [10, 20, 40, 80, 160, 240, 240].entries()) {
      expect((await world.email()).hold).toMatchObject({
        for: why,
        message: 'No.',
        asked,
        ask_at: isoAfter(world.now, 1_000 * seconds),
      });
      await advance('email-1', world.deps());
      const sent = world.sends.length;
      world.advance(1_000 * seconds);
      await advance('email-1', world.deps());
      expect(world.sends, 'one batch asks, at its time').toHaveLength(sent + 1);
      if (asked === 6) world.answer = accept;
      await sendBatch(MESSAGE, world.deps());
    }
    expect(await world.states()).toBe('ssss');
    expect(await world.email()).not.toHaveProperty('hold');
    expect(world.counted, 'it rings once').toEqual(['failed']);
  });

  it('fails with the reason where its post can never be rendered, after the tries of a call', async () => {
    const world = await sending(['....']);
    await world.tables.batches.remove('email-1', ['00001']);
    let made = 0;
    const of = async () => {
      made += 1;
      throw new UnreadableChunkError('The post has 31 parts; at most 30 are possible.');
    };
    for (let turn = 0; turn < 20 && (await world.email()).status === 'submitting'; turn++) {
      await sendBatch(MESSAGE, { ...world.deps(), renderings: { of } });
      world.advance(320_000);
      await advance('email-1', world.deps());
    }
    expect(made, 'a first try and six more').toBe(7);
    expect(world.calls).toEqual([]);
    expect((await world.batches())[0]).toMatchObject({
      status: 'failed',
      counts: { pending: 4 },
      error_message: 'The mails of the batch could not be made: The post has 31 parts; at most 30 are possible.',
    });
    expect(await world.email()).toMatchObject({ status: 'failed', error: expect.stringContaining('31 parts') });
  });

  it('fails where the provider refused too often, and its recipients stay to be sent', async () => {
    const world = await sending(['....'], 4);
    await world.tables.batches.change((await world.batches())[0] ?? batchFor([]), { set: { provider_failures: 6 } });
    const { kind, refusal } = refuse('transient');
    world.answer = () => ({ kind, refusal: { ...refusal, status_code: 403 } });
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'failed' });
    expect((await world.batches())[0]).toMatchObject({
      status: 'failed',
      counts: { pending: 4 },
      error_status_code: 403,
      error_message: 'The provider refused the batch: No.',
      error_data: JSON.stringify({ code: 'BULK_EMAIL_SEND_FAILED', reason: 'because_transient' }),
    });
    const context = {
      email_id: 'email-1',
      batch_id: '00000',
      reason: 'because_transient',
      said: 'No.',
      status_code: 403,
    };
    expect(world.errors).toEqual([
      ['BULK_EMAIL_SEND_FAILED: batch 00000 for email email-1', expect.objectContaining(context)],
    ]);
  });

  it('stops between two calls when the email is paused', async () => {
    const world = await sending(['....', '....']);
    world.answer = (call) => {
      world.advance(5_000);
      return accept(call);
    };
    const deps = world.deps();
    const provider = {
      send: async (call: BulkCall) => {
        await world.tables.emails.change(await world.email(), { set: { paused: true } });
        return deps.provider.send(call);
      },
    };
    expect(await sendBatch(MESSAGE, { ...deps, provider })).toMatchObject({ result: 'halted' });
    expect(await world.states()).toBe('ssss....');
    expect(await world.email()).toMatchObject({ slots: {} });
    expect(world.sends).toEqual([]);
  });

  it('goes on in another invocation when the time is too short for a call', async () => {
    const world = await sending(['....', '....']);
    world.answer = (call) => {
      world.remaining_ms = 50_000;
      return accept(call);
    };
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'continued' });
    expect(world.sends).toEqual([MESSAGE]);
    world.remaining_ms = 900_000;
    expect(await sendBatch(MESSAGE, world.deps())).toMatchObject({ result: 'submitted' });
    expect(await world.states()).toBe('ssssssss');
  });

  it('takes what a dead sender claimed for uncertain, or for submitted if events say so', async () => {
    const world = await sending(['>>>.']);
    const state = await world.chunks.store.readState(chunkState(''));
    const call = { call_id: 'dead', entries: [0, 1, 2], until: '2026-03-01T10:00:00.000Z' };
    if (state !== undefined) await world.chunks.store.change(state, { ...state, call });
    const events = await world.tables.events.read('email-1', '00000');
    await world.tables.events.change(events, { bits: { accepted: withBits(undefined, [1]) } });
    await sendBatch(MESSAGE, world.deps());
    expect(await world.states()).toBe('usus');
    expect(world.calls.map(({ entries }) => entries.map(({ to }) => to))).toEqual([['m3@example.com']]);
  });

  it('sends to nobody again whose first mail an event has shown, or shows while the second one is refused', async () => {
    const world = await sending(['...']);
    const [batch] = await world.batches();
    if (batch === undefined) throw new Error('There is no batch.');
    await world.tables.batches.change(batch, { set: { resent: true } });
    const shown = async (...places: number[]) => {
      const events = await world.tables.events.read('email-1', '00000');
      await world.tables.events.change(events, { bits: { accepted: withBits(events.bits.accepted, places) } });
    };
    await shown(1);
    const deps = world.deps();
    const refusal = { class: 'recipient', reason: 'message_rejected', message: 'No.' } as const;
    const provider = {
      send: async (call: BulkCall) => {
        world.calls.push(call);
        await shown(2);
        return { kind: 'answered', entries: call.entries.map(() => ({ accepted: false as const, refusal })) } as const;
      },
    };
    await sendBatch(MESSAGE, { ...deps, provider });
    // Whether it was refused for itself the others show.
    expect(await world.states()).toBe('.ss');
    expect(world.calls.map(({ entries }) => entries.map(({ to }) => to))).toEqual([
      ['m0@example.com', 'm2@example.com'],
    ]);
  });

  it('queues an outcome that storage does not take, which is recorded later', async () => {
    const world = await sending(['....']);
    const deps = world.deps();
    let down = false;
    const chunks = {
      ...deps.chunks,
      change: async (...args: Parameters<typeof deps.chunks.change>) => {
        if (down) throw new Error('down');
        return deps.chunks.change(...args);
      },
    };
    world.answer = (call) => {
      down = true;
      return accept(call);
    };
    await expect(sendBatch(MESSAGE, { ...deps, chunks })).rejects.toBeInstanceOf(StorageUnavailableError);
    const [record] = world.sends;
    expect(record).toMatchObject({ kind: 'record', batch_id: '00000', chunk: 0 });
    expect(JSON.stringify(record), 'ids and statuses only').not.toContain('name');
    world.advance(3_600_000);
    // Meanwhile the call counts as lost.
    await sendBatch(MESSAGE, deps);
    expect(await world.states()).toBe('uuuu');
    if (record?.kind === 'record') await recordLate(record, deps);
    expect(await world.states()).toBe('ssss');
    expect((await world.batches())[0]?.counts).toMatchObject({ submitted: 4, uncertain: 0 });
  });

  it('queues what a refusal counts, and the function reads all of it', async () => {
    const world = await sending(['..']);
    const deps = world.deps();
    let down = false;
    const change: typeof deps.chunks.change = (...args) => {
      if (down) throw new Error('down');
      return deps.chunks.change(...args);
    };
    const refusal = { class: 'transient', reason: 'transient_failure' } as const;
    world.answer = ({ entries }) => {
      down = true;
      return { kind: 'answered', entries: entries.map(() => ({ accepted: false, refusal })) };
    };
    const failing = { ...deps, chunks: { ...deps.chunks, change } };
    await expect(sendBatch(MESSAGE, failing)).rejects.toBeInstanceOf(StorageUnavailableError);
    const [record] = world.sends;
    const tried = { state: 'pending', tries: 1, reason: 'transient_failure' };
    expect(record).toMatchObject({ kind: 'record', outcome: { outcomes: [tried, tried] } });
    expect(parseMessage(sendMessage, JSON.stringify(record))).toEqual(record);
  });

  it('never begins a call after its claim took too long to write', async () => {
    const world = await sending(['....']);
    const deps = world.deps();
    let claims = 0;
    const chunks = {
      ...deps.chunks,
      change: async (...args: Parameters<typeof deps.chunks.change>) => {
        const changed = await deps.chunks.change(...args);
        if (args[1].call !== undefined && claims++ === 0) world.advance(35_000);
        return changed;
      },
    };
    expect(await sendBatch(MESSAGE, { ...deps, chunks })).toMatchObject({ result: 'submitted' });
    expect(claims).toBe(2);
    expect(world.calls).toHaveLength(1);
    expect(await world.states()).toBe('ssss');
  });

  describe.each([1, 2])('whose claim runs out before %i answers of storage come', (late) => {
    /** A sender whose first `late` writes of the batch are answered after a minute; `meanwhile` comes before the last answer. */
    async function answeredLate(meanwhile: (world: JobWorld) => Promise<unknown>) {
      const world = await sending(['....']);
      const deps = world.deps();
      let answers = 0;
      const change: typeof deps.batches.change = async (...args) => {
        const changed = await deps.batches.change(...args);
        if (++answers <= late) world.advance(60_000);
        if (answers === late) await meanwhile(world);
        return changed;
      };
      return { world, deps: { ...deps, batches: { ...deps.batches, change } } };
    }

    it('makes no call while another sender has it', async () => {
      const { world, deps } = await answeredLate(async (world) => {
        const [batch] = await world.batches();
        const claim = { claim_id: 'other', claim_until: isoAfter(world.now, 20_000) };
        if (batch !== undefined) await world.tables.batches.change(batch, { set: claim });
      });
      expect(await sendBatch(MESSAGE, deps)).toEqual({ result: 'duplicate' });
      expect(world.calls).toEqual([]);
      expect(await world.states()).toBe('....');
    });

    it('is claimed anew before the call, if nobody has it', async () => {
      const { world, deps } = await answeredLate(async () => {});
      const claims: unknown[] = [];
      const provider = {
        send: async (call: BulkCall) => {
          const [batch] = await world.batches();
          claims.push((batch?.claim_until ?? '') > world.now.toISOString());
          return accept(call);
        },
      };
      expect(await sendBatch(MESSAGE, { ...deps, provider })).toMatchObject({ result: 'submitted' });
      expect(claims).toEqual([true]);
    });
  });
});

it('gives an email two slots', () => expect(EMAIL_CONCURRENCY).toBe(2));
