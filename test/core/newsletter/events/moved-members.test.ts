import { describe, expect, it } from 'vitest';
import { isoAfter } from '../../../../src/core/model/time.ts';
import { applyEvents } from '../../../../src/core/newsletter/events/apply-events.ts';
import { unsubscribe } from '../../../../src/core/newsletter/events/unsubscribe.ts';
import { resubscribe, upsertMembers } from '../../../../src/core/newsletter/members/upsert-members.ts';
import type { NewsletterEvent } from '../../../../src/core/newsletter/model/batch-events.ts';
import { createMemoryMembers } from '../../../../tools/simulation/twins/members.ts';
import { batchFor, chunkOf, chunkState } from '../../../support/newsletter/job-rows.ts';
import { JobWorld } from '../../../support/newsletter/job-world.ts';
import { legibleSealing } from '../../../support/newsletter/members.ts';

const TENANT = 'tenant-1';
const PLACE = { email_id: 'email-1', batch_id: '00000', chunk: 0, n: 0 };
const PRESENT = 'present@example.com';

/** The member m-0 got a mail at m0@example.com. */
async function sentWorld() {
  const world = await JobWorld.of({ status: 'submitted' });
  const state = chunkState('s');
  await world.chunks.store.put([{ chunk: chunkOf(1), state }]);
  await world.tables.batches.put(batchFor([state], { status: 'submitted' }));
  const members = createMemoryMembers();
  const sealing = legibleSealing();
  const deps = { ...world.deps(), members, sealing, warming: { report: async () => {} } };
  const give = (email: string) => upsertMembers(TENANT, [{ member_id: 'm-0', email, newsletters: ['news'] }], deps);
  await give('m0@example.com');
  const factsOf = async (email: string) => {
    const hash = await sealing.emailHash(TENANT, email);
    return (await members.facts(TENANT, [hash])).get(hash);
  };
  return { deps, members, give, factsOf };
}

const complaint = { ...PLACE, kinds: ['accepted', 'complained'], suppress: 'complained' } as const;
const bounce = { ...PLACE, kinds: ['accepted', 'bounced'], suppress: 'bounced' } as const;

describe('a member who has another address since the mail', () => {
  it('is unsubscribed at both', async () => {
    const { deps, give, factsOf } = await sentWorld();
    await give(PRESENT);
    expect(await unsubscribe(PLACE, deps)).toBe(true);
    expect(Object.keys((await factsOf('m0@example.com'))?.unsubscribed ?? {})).toEqual(['news']);
    expect(Object.keys((await factsOf(PRESENT))?.unsubscribed ?? {})).toEqual(['news']);
  });

  it('is subscribed at both again by the link, but for what was decided there in another way', async () => {
    const { deps, members, give, factsOf } = await sentWorld();
    await give(PRESENT);
    await unsubscribe(PLACE, deps);
    expect(await unsubscribe(PLACE, deps, { undo: true })).toBe(true);
    for (const email of ['m0@example.com', PRESENT]) expect((await factsOf(email))?.unsubscribed ?? {}).toEqual({});
    const hash = await deps.sealing.emailHash(TENANT, PRESENT);
    await members.unsubscribe(TENANT, hash, 'news', isoAfter(deps.clock(), -2 * 86_400_000));
    await unsubscribe(PLACE, deps, { undo: true });
    expect(Object.keys((await factsOf(PRESENT))?.unsubscribed ?? {})).toEqual(['news']);
  });

  it('gets no mail at the present address after a complaint, and does after a bounce of the old one', async () => {
    const { deps, give, factsOf } = await sentWorld();
    await give(PRESENT);
    await applyEvents('email-1', '00000', [bounce], deps);
    expect(await factsOf(PRESENT)).toBeUndefined();
    expect((await factsOf('m0@example.com'))?.suppressed?.reason).toBe('bounced');
    await applyEvents('email-1', '00000', [complaint], deps);
    expect((await factsOf(PRESENT))?.suppressed?.reason).toBe('complained');
  });

  it('is unsubscribed at both when the address changes at the same moment', async () => {
    const { deps, members, give, factsOf } = await sentWorld();
    let during: Promise<unknown> | undefined;
    // The unsubscription comes after the facts were carried, and before the member has moved.
    const upsert: typeof members.upsert = async (next) => {
      during ??= unsubscribe(PLACE, deps);
      await during;
      return members.upsert(next);
    };
    await upsertMembers(TENANT, [{ member_id: 'm-0', email: PRESENT }], { ...deps, members: { ...members, upsert } });
    expect(Object.keys((await factsOf(PRESENT))?.unsubscribed ?? {})).toEqual(['news']);
    await give(PRESENT);
  });

  it('is unsubscribed at both when the move was applied, and answered with an error', async () => {
    const { deps, members, give, factsOf } = await sentWorld();
    const upsert: typeof members.upsert = async (next, found) => {
      await unsubscribe(PLACE, deps);
      await members.upsert(next, found);
      throw new Error('the answer was lost');
    };
    const moving = upsertMembers(TENANT, [{ member_id: 'm-0', email: PRESENT }], {
      ...deps,
      members: { ...members, upsert },
    });
    await expect(moving).rejects.toThrow('the answer was lost');
    expect(await factsOf(PRESENT)).toBeUndefined();
    await give(PRESENT);
    expect(Object.keys((await factsOf(PRESENT))?.unsubscribed ?? {})).toEqual(['news']);
  });

  it('stays subscribed anew, whatever is stored later', async () => {
    const { deps, members, give, factsOf } = await sentWorld();
    await unsubscribe(PLACE, deps);
    // The writer dies after the move.
    const dying = { ...members, find: members.find, settleMove: () => Promise.reject(new Error('died')) };
    const moving = upsertMembers(TENANT, [{ member_id: 'm-0', email: PRESENT }], { ...deps, members: dying });
    await expect(moving).rejects.toThrow('died');
    const moved = await members.read(TENANT, 'm-0');
    if (moved === undefined) throw new Error('the member is gone');
    await resubscribe(moved, 'news', { members, clock: deps.clock });
    await give(PRESENT);
    expect((await factsOf(PRESENT))?.unsubscribed ?? {}).toEqual({});
  });

  it('is unsubscribed by the address alone once the member was deleted', async () => {
    const { deps, members, factsOf } = await sentWorld();
    await members.remove(TENANT, 'm-0');
    expect(await unsubscribe(PLACE, deps)).toBe(true);
    expect(Object.keys((await factsOf('m0@example.com'))?.unsubscribed ?? {})).toEqual(['news']);
  });

  it('takes nothing along when the member was deleted in between: a new member has only an id in common', async () => {
    const { deps, members, give, factsOf } = await sentWorld();
    await unsubscribe(PLACE, deps);
    await members.remove(TENANT, 'm-0');
    await give(PRESENT);
    expect(await factsOf(PRESENT)).toBeUndefined();
    expect(Object.keys((await factsOf('m0@example.com'))?.unsubscribed ?? {})).toEqual(['news']);
  });
});

describe('an event of a mail whose sender died, also while the email is paused and nobody takes it over', () => {
  async function started() {
    const world = await JobWorld.of({ status: 'submitting', paused: true });
    const until = isoAfter(world.now, 40_000);
    const state = chunkState('>>', { call: { call_id: 'died', entries: [0, 1], until } });
    await world.chunks.store.put([{ chunk: chunkOf(2), state }]);
    await world.tables.batches.put(batchFor([state], { status: 'submitting' }));
    const deps = {
      ...world.deps(),
      members: createMemoryMembers(),
      sealing: legibleSealing(),
      warming: { report: async () => {} },
    };
    return {
      world,
      apply: (event: Omit<NewsletterEvent, 'email_id' | 'batch_id' | 'chunk'>) =>
        applyEvents('email-1', '00000', [{ ...PLACE, ...event }], deps),
    };
  }

  it('is recorded when its call must have ended, if it is a rejection', async () => {
    const { world, apply } = await started();
    const reject = () => apply({ n: 0, kinds: ['rejected'], rejected: 'rejected' });
    await expect(reject(), 'its sender may still write what was answered').rejects.toThrow('comes back');
    world.advance(40_001);
    await reject();
    expect(await world.states()).toBe('fu');
  });

  it('leaves none uncertain that an earlier event has shown as accepted', async () => {
    const { world, apply } = await started();
    for (const n of [0, 1]) await apply({ n, kinds: ['accepted'] });
    expect(await world.states()).toBe('>>');
    world.advance(40_001);
    await apply({ n: 0, kinds: ['opened'] });
    expect(await world.states()).toBe('ss');
  });

  const former = { n: 0, kinds: ['rejected'], rejected: 'rejected', message_id: 'former' } as const;
  const arrived = { n: 0, kinds: ['accepted', 'delivered'], message_id: 'newest' } as const;
  it.each([
    ['before', [former, arrived]],
    ['after', [arrived, former]],
  ])('is not refused by an older mail, which is told %s it', async (_, events) => {
    const { world, apply } = await started();
    world.advance(40_001);
    for (const event of events) await apply(event);
    expect(await world.states()).toBe('su');
    expect((await world.tables.batches.read('email-1', '00000'))?.counts).toMatchObject({ submitted: 1, failed: 0 });
  });
});
