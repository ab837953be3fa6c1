import { describe, expect, it } from 'vitest';
import { applyEvents } from '../../../../src/core/newsletter/events/apply-events.ts';
import { resumeEmail } from '../../../../src/core/newsletter/lifecycle/operate.ts';
import type { EventKind } from '../../../../src/core/newsletter/model/batch-events.ts';
import { emailView } from '../../../../src/core/newsletter/views/email-view.ts';
import { createMemoryMembers } from '../../../../tools/simulation/twins/members.ts';
import { batchRow } from '../../../support/newsletter/job-rows.ts';
import { JobWorld } from '../../../support/newsletter/job-world.ts';

const PREPARED = { recipients: 3_000, excluded: 0, excluded_by_reason: {}, batches: 3, at: '2026-03-01T10:00:00.000Z' };

/** An email of three batches that is being sent, with this many submitted in each. */
async function sendingWorld(...sent: readonly number[]) {
  const world = await JobWorld.of({ status: 'submitting', prepared: PREPARED });
  for (const [i, submitted] of sent.entries()) {
    const counts = { pending: 1_000 - submitted, submitted, excluded: 0, failed: 0, uncertain: 0 };
    await world.tables.batches.put(batchRow({ batch_id: `0000${i}`, status: 'submitted', chunks: 20, counts }));
  }
  let looks = 0;
  const deps = {
    ...world.deps(),
    batches: {
      ...world.tables.batches,
      list: (email_id: string) => {
        looks += 1;
        return world.tables.batches.list(email_id);
      },
    },
    members: createMemoryMembers(),
    sealing: { emailHash: async (_: string, email: string) => email },
    warming: { report: async () => {} },
  };
  /** The event of `count` mails of a batch, from the place `from` on. */
  const report = (batch: number, kind: EventKind, count: number, from = 0) => {
    const batch_id = `0000${batch}`;
    const events = Array.from({ length: count }, (_, i) => ({
      email_id: 'email-1',
      batch_id,
      chunk: Math.floor((from + i) / 50),
      n: (from + i) % 50,
      kinds: ['accepted', kind] as const,
    }));
    return applyEvents('email-1', batch_id, events, deps);
  };
  return { world, deps, report, looks: () => looks };
}

describe('an email with bad addresses', () => {
  it('holds when more than 5 % of its mails bounced for good, and says why', async () => {
    const { world, report } = await sendingWorld(600, 400);
    await report(0, 'bounced', 50);
    expect((await world.email()).paused).toBe(false);
    await report(1, 'bounced', 1);
    expect((await world.email()).paused, 'one batch is good').toBe(false);
    await report(0, 'bounced', 1, 50);
    const email = await world.email();
    expect(email).toMatchObject({ paused: true, held: { reason: 'bounced', count: 52, sent: 1_000, limit: 0.05 } });
    const view = emailView({ email, batches: [], events: [] }, world.now, undefined);
    expect(view).toMatchObject({ phase: 'paused', held: { reason: 'bounced' } });
    expect(view.held?.message).toMatch(/^52 of 1000 mails bounced for good: 5\.2 %, and 5 % is the limit\. Look where/);
    expect(world.counted).toEqual(['failed']);
    expect(world.errors[0]?.[0]).toContain('Email email-1 paused itself: 52 of 1000');
  });

  it('holds when more than 0.3 % of them were complained about', async () => {
    const { world, report } = await sendingWorld(1_000);
    await report(0, 'complained', 3);
    expect((await world.email()).paused).toBe(false);
    await report(0, 'complained', 1, 3);
    expect((await world.email()).held).toMatchObject({ reason: 'complained', count: 4, sent: 1_000, limit: 0.003 });
  });

  it('does not hold for soft bounces, nor before 500 mails are sent', async () => {
    const { world, report } = await sendingWorld(499);
    await report(0, 'soft_bounced', 499);
    await report(0, 'bounced', 499);
    expect((await world.email()).paused).toBe(false);
    const events = await world.tables.events.list('email-1');
    expect(emailView({ email: await world.email(), batches: [], events }, world.now, undefined).counts).toMatchObject({
      soft_bounced: 499,
      bounced: 499,
    });
  });

  it('goes to its end when an operator resumes it', async () => {
    const { world, deps, report } = await sendingWorld(1_000);
    await report(0, 'bounced', 60);
    await resumeEmail('email-1', deps);
    await report(0, 'bounced', 100, 60);
    expect(await world.email()).toMatchObject({ paused: false, held: { count: 60 } });
    const view = emailView({ email: await world.email(), batches: [], events: [] }, world.now, undefined);
    expect(view.held).toBeUndefined();
  });

  it('costs a healthy email no look at its other batches', async () => {
    const { report, looks } = await sendingWorld(1_000, 1_000);
    await report(0, 'bounced', 20);
    await report(0, 'delivered', 900, 20);
    await report(1, 'complained', 1);
    expect(looks()).toBe(0);
  });
});
