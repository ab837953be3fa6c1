import { describe, expect, it } from 'vitest';
import { countsOf } from '../../../../src/core/newsletter/accounting/counts.ts';
import { runClock } from '../../../../src/core/newsletter/lifecycle/advance.ts';
import { cancelEmail, pauseEmail } from '../../../../src/core/newsletter/lifecycle/operate.ts';
import { resolveEmail } from '../../../../src/core/newsletter/lifecycle/resolve.ts';
import { startEmail } from '../../../../src/core/newsletter/lifecycle/start.ts';
import type { BulkCall } from '../../../../src/core/newsletter/model/provider.ts';
import { recordLate } from '../../../../src/core/newsletter/sending/note-answer.ts';
import { sendBatch } from '../../../../src/core/newsletter/sending/send-batch.ts';
import { emailPhaseOf, emailView } from '../../../../src/core/newsletter/views/email-view.ts';
import { candidate, JobWorld } from '../../../support/newsletter/job-world.ts';

/** Three batches of four recipients, all prepared; nothing is sent yet. */
async function prepared() {
  const world = await JobWorld.of();
  world.give(Array.from({ length: 12 }, (_, n) => candidate(n)));
  await startEmail('email-1', world.deps());
  return world;
}

/** Delivers every message, also those that come meanwhile. */
async function work(world: JobWorld): Promise<void> {
  for (let message = world.sends.shift(); message !== undefined; message = world.sends.shift()) {
    if (message.kind === 'batch') await sendBatch(message, world.deps());
    if (message.kind === 'record') await recordLate(message, world.deps());
  }
}

const counts = async (world: JobWorld) => countsOf(await world.email(), await world.batches());

describe('an email that has failed', () => {
  it('is cancelled: who was not sent to is excluded, and its error goes', async () => {
    const world = await prepared();
    world.sends.length = 0;
    for (const batch of await world.batches()) await world.tables.batches.change(batch, { set: { status: 'failed' } });
    const failed = { status: 'failed', error: 'Refused.', slots: {} } as const;
    await world.tables.emails.change(await world.email(), { set: failed, remove: ['next_at', 'active'] });
    await cancelEmail('email-1', world.deps());
    await work(world);
    const email = await world.email();
    expect(email).toMatchObject({ status: 'cancelled' });
    expect(email).not.toHaveProperty('error');
    expect(await counts(world)).toMatchObject({ recipients: 12, pending: 0, excluded: 12 });
  });

  it('before it was prepared is cancelled at once', async () => {
    const world = await JobWorld.of({ status: 'failed', error: 'Nobody.' });
    expect(await cancelEmail('email-1', world.deps())).toMatchObject({ status: 'cancelled' });
    expect(await world.email()).not.toHaveProperty('error');
  });
});

describe('an email that is cancelled while it is sent', () => {
  it('ends with every recipient in an end state: nobody gets it from the next call on', async () => {
    const world = await prepared();
    const deps = world.deps();
    const provider = {
      send: async (call: BulkCall) => {
        if (world.calls.length === 1) {
          await cancelEmail('email-1', deps);
          // The sender looks at the email every few seconds.
          world.advance(world.limits.email_check_ms);
        }
        return deps.provider.send(call);
      },
    };
    const [first] = world.sends;
    if (first?.kind === 'batch') await sendBatch(first, { ...deps, provider });
    expect(emailPhaseOf(await world.email(), world.now)).toBe('cancelling');
    await work(world);
    const email = await world.email();
    expect(email).toMatchObject({ status: 'cancelled', slots: {} });
    expect(email).not.toHaveProperty('next_at');
    expect(world.calls, 'the call under way ended').toHaveLength(2);
    expect(await counts(world)).toEqual({
      recipients: 12,
      pending: 0,
      submitted: 4,
      excluded: 8,
      failed: 0,
      uncertain: 0,
    });
    const view = emailView({ email, batches: await world.batches(), events: [] }, world.now, undefined);
    expect(view).toMatchObject({ phase: 'cancelled', excluded_by_reason: { cancelled: 8 } });
    expect(world.counted, 'no alarm').toEqual([]);
  });

  it.each<[string, (world: JobWorld) => Promise<unknown>]>([
    ['paused', (world) => pauseEmail('email-1', world.deps())],
    [
      'waiting for a quota',
      async (world) => {
        world.reserve = () => ({ granted: 0, retry_at: '2026-03-02T10:00:00.000Z' });
        await work(world);
      },
    ],
    [
      'waiting for a provider that answers nobody',
      async (world) => {
        const until = '2026-03-02T10:00:00.000Z';
        await world.tables.emails.change(await world.email(), { set: { silence: { calls: 2, until } } });
      },
    ],
    [
      'left with a batch that failed',
      async (world) => {
        const [batch] = await world.batches();
        if (batch) await world.tables.batches.change(batch, { set: { status: 'failed', error_message: 'No.' } });
      },
    ],
  ])('ends at once when it is %s', async (_, happen) => {
    const world = await prepared();
    await happen(world);
    await cancelEmail('email-1', world.deps());
    await work(world);
    for (let minute = 0; minute < 3; minute++) {
      world.advance(60_000);
      await runClock(world.deps());
      await work(world);
    }
    expect(await world.email()).toMatchObject({ status: 'cancelled', slots: {} });
    expect(await counts(world)).toMatchObject({ pending: 0, excluded: 12 });
    expect(world.calls).toEqual([]);
  });

  it('stops its preparation, which starts nothing any more', async () => {
    const world = await JobWorld.of();
    world.give([candidate(0)], [candidate(1)]);
    world.onPage = async (page) => {
      if (page === 1) await cancelEmail('email-1', world.deps());
    };
    expect(await startEmail('email-1', world.deps())).toMatchObject({ result: 'skipped' });
    expect(await world.email()).toMatchObject({ status: 'cancelled' });
    expect(world.sends).toEqual([]);
  });

  it('is not paused or resent to, and leaves who is uncertain to a decision', async () => {
    const world = await prepared();
    world.answer = () => ({ kind: 'unknown', error: 'TimeoutError' });
    const [first] = world.sends;
    world.limits = { ...world.limits, concurrency: 1 };
    if (first?.kind === 'batch') await sendBatch(first, world.deps());
    await cancelEmail('email-1', world.deps());
    await expect(pauseEmail('email-1', world.deps())).rejects.toMatchObject({ problem: 'conflict' });
    await work(world);
    expect(await world.email()).toMatchObject({ status: 'cancelled' });
    const { uncertain } = await counts(world);
    expect(uncertain).toBeGreaterThan(0);
    await expect(resolveEmail('email-1', 'resend', world.deps())).rejects.toMatchObject({ problem: 'conflict' });
    expect(await resolveEmail('email-1', 'leave', world.deps())).toMatchObject({ resolved: uncertain });
  });

  it('has no recipient left when the record of a refused call comes after its end', async () => {
    const world = await prepared();
    world.answer = () => ({ kind: 'unknown', error: 'TimeoutError' });
    const [first] = world.sends;
    if (first?.kind === 'batch') await sendBatch(first, world.deps());
    await cancelEmail('email-1', world.deps());
    await work(world);
    const state = await world.chunks.store.readState({ email_id: 'email-1', batch_id: '00000', chunk: 0 });
    const call_id = state?.unanswered[0] ?? '';
    const outcomes = [0, 1].map((n) => ({ n, state: 'pending' as const }));
    const key = { email_id: 'email-1', batch_id: '00000', chunk: 0 };
    const late = { call_id, outcomes, at: world.now.toISOString() };
    await recordLate({ version: 1, kind: 'record', ...key, outcome: late }, world.deps());
    await work(world);
    expect(await world.email()).toMatchObject({ status: 'cancelled' });
    expect(await counts(world)).toMatchObject({ pending: 0 });
  });
});
