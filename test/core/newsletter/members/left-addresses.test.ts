import { beforeEach, describe, expect, it } from 'vitest';
import { deleteMember } from '../../../../src/core/newsletter/members/left-addresses.ts';
import {
  type GivenMember,
  resubscribe,
  upsertMembers,
} from '../../../../src/core/newsletter/members/upsert-members.ts';
import { createLateExclusions } from '../../../../src/core/newsletter/sending/exclusion-checks.ts';
import { createMemoryMembers } from '../../../../tools/simulation/twins/members.ts';
import { legibleSealing } from '../../../support/newsletter/members.ts';

const TENANT = 'tenant-1';
const HOUR = 3_600_000;
const START = Date.parse('2026-03-01T10:00:00.000Z');
const ANN = { member_id: 'ann', email: 'ann@example.com', newsletters: ['news', 'daily'] };

/** A mailing was prepared an hour ago for Ann, who is there since. */
function world() {
  let now = START - 2 * HOUR;
  const clock = () => new Date(now);
  const members = createMemoryMembers(clock);
  const sealing = legibleSealing();
  const deps = { members, sealing, clock, newId: () => 'uuid' };
  return {
    deps,
    members,
    give: (...given: GivenMember[]) => upsertMembers(TENANT, given, deps),
    remove: (member_id: string) => deleteMember(TENANT, member_id, 'deleted', deps),
    at: (ms: number) => {
      now = START + ms;
    },
    /** Why a mailing of the newsletter that began then does not go to the address. */
    async why(email: string, newsletter_id = 'news', began = START) {
      const created_at = new Date(began).toISOString();
      const mailing = { tenant_id: TENANT, newsletter_id, created_at };
      const [reason] = await createLateExclusions(members, sealing).check(mailing, [{ member_email: email }]);
      return reason;
    },
  };
}

let { deps, members, give, remove, at, why } = world();
beforeEach(async () => {
  ({ deps, members, give, remove, at, why } = world());
  await give(ANN);
  at(HOUR);
});

describe('a mailing that was prepared before', () => {
  it.each([
    ['deleted', () => remove('ann')],
    ['erased', () => deleteMember(TENANT, 'ann', 'erased', deps)],
    ['removed', () => give({ ...ANN, newsletters: [] })],
    ['moved', () => give({ ...ANN, email: 'new@example.com' })],
  ] as const)(
    'does not go to who was %s since, one that is prepared later has not found them',
    async (reason, leave) => {
      expect(await why(ANN.email)).toBeUndefined();
      await leave();
      expect(await why(ANN.email)).toBe(reason);
      expect(await why(ANN.email, 'daily')).toBe(reason);
      expect(await why(ANN.email, 'news', START + 2 * HOUR)).toBeUndefined();
      expect(await why('new@example.com')).toBeUndefined();
    },
  );

  it('does not go to whose subscription to its newsletter was taken away, and only of that one', async () => {
    await give({ ...ANN, newsletters: ['daily'] });
    expect(await why(ANN.email)).toBe('removed');
    expect(await why(ANN.email, 'daily')).toBeUndefined();
  });

  it('goes to an address as long as another member of it subscribes', async () => {
    await give({ member_id: 'bob', email: ANN.email, newsletters: ['news'] });
    await remove('ann');
    expect(await why(ANN.email)).toBeUndefined();
    expect(await why(ANN.email, 'daily')).toBe('deleted');
    await give({ member_id: 'bob', email: ANN.email, newsletters: [] });
    expect(await why(ANN.email)).toBe('removed');
  });

  it('does not go to an address that its last members leave at once, each seeing the other', async () => {
    await give({ member_id: 'bob', email: ANN.email, newsletters: ['news'] });
    await Promise.all([remove('ann'), remove('bob')]);
    expect(await why(ANN.email)).toBe('deleted');
    await give(ANN, { member_id: 'bob', email: ANN.email, newsletters: ['news'] });
    expect(await why(ANN.email)).toBeUndefined();
    await give({ ...ANN, newsletters: [] }, { member_id: 'bob', email: 'new@example.com' });
    expect(await why(ANN.email)).toMatch(/removed|moved/);
  });

  it.each([
    ['deleted and added again', () => remove('ann'), () => give(ANN)],
    ['deleted, and another member has the address', () => remove('ann'), () => give({ ...ANN, member_id: 'bob' })],
    ['taken away and given again', () => give({ ...ANN, newsletters: [] }), () => give(ANN)],
    ['moved and came back', () => give({ ...ANN, email: 'new@example.com' }), () => give({ ...ANN })],
    [
      'taken away and subscribed again',
      () => give({ ...ANN, newsletters: [] }),
      async () => {
        const member = await members.read(TENANT, 'ann');
        for (const id of ANN.newsletters) if (member) await resubscribe(member, id, deps);
      },
    ],
  ] as const)('goes to who was %s', async (_, leave, comeBack) => {
    await leave();
    expect(await why(ANN.email)).toBeDefined();
    at(HOUR + 60_000);
    await comeBack();
    expect(await why(ANN.email)).toBeUndefined();
  });

  it('goes to who came back to its newsletter only, if they came back to one', async () => {
    await remove('ann');
    await give({ ...ANN, newsletters: ['daily'] });
    expect([await why(ANN.email), await why(ANN.email, 'daily')]).toEqual(['deleted', undefined]);
  });

  it('does not go to a member whose deletion died after it was begun, or before it was marked again', async () => {
    const dying = { ...members, find: () => Promise.reject(new Error('died')) };
    await expect(deleteMember(TENANT, 'ann', 'deleted', { ...deps, members: dying })).rejects.toThrow('died');
    expect(await why(ANN.email)).toBe('deleted');
  });

  it('does not go to a member who moved while it was deleted, at either address', async () => {
    const remove: typeof members.remove = async (...args) => {
      await give({ ...ANN, email: 'new@example.com' });
      return members.remove(...args);
    };
    await deleteMember(TENANT, 'ann', 'deleted', { ...deps, members: { ...members, remove } });
    expect([await why(ANN.email), await why('new@example.com')]).toEqual(['moved', 'deleted']);
  });

  it('that began while a member was leaving does not find them, and does not go to them', async () => {
    // The mark comes first, and its mailing begins between it and the deletion.
    const remove: typeof members.remove = async (...args) => {
      at(HOUR + 60_000);
      return members.remove(...args);
    };
    await deleteMember(TENANT, 'ann', 'deleted', { ...deps, members: { ...members, remove } });
    expect(await why(ANN.email, 'news', START + HOUR + 30_000)).toBe('deleted');
  });
});

it('an address of which only a mark is left is known to nobody else', async () => {
  await remove('ann');
  const hash = await deps.sealing.emailHash(TENANT, ANN.email);
  expect(await members.address(TENANT, hash)).toBeUndefined();
});
