import { expect, it } from 'vitest';
import type { SegmentSubject, StoredMember } from '../../src/core/newsletter/model/member.ts';
import type { AddressEntry, MemberStore } from '../../src/core/newsletter/model/ports.ts';
import { storedMember } from '../support/newsletter/members.ts';

let serial = 0;
const NOW = '2026-11-22T00:00:00.000Z';

/** What every MemberStore must do. `store` is called when a test runs. */
export function memberSuite(store: () => MemberStore): void {
  /** A tenant of its own, so that a test sees only its own members. */
  const tenant = () => `tenant-${++serial}-${Math.random().toString(36).slice(2)}`;
  const all = async (tenant_id: string, after?: string): Promise<AddressEntry[]> => {
    const entries: AddressEntry[] = [];
    for await (const page of store().addresses(tenant_id, after)) entries.push(...page);
    return entries;
  };
  const asked = async (
    of: 'audience' | 'addressees',
    tenant_id: string,
    ...fields: readonly (keyof SegmentSubject)[]
  ): Promise<readonly AddressEntry<SegmentSubject>[]> => {
    const entries: AddressEntry<SegmentSubject>[] = [];
    const query = { tenant_id, newsletter_id: 'weekly', fields: new Set(fields) };
    for await (const page of store()[of](query)) entries.push(...page);
    return entries;
  };
  const membersOf = async (tenant_id: string): Promise<readonly StoredMember[]> =>
    (await all(tenant_id)).flatMap(({ members }) => members);

  it('keeps a member as it was stored', async () => {
    const member = storedMember(tenant(), 'm-1', { labels: ['vip', '大阪 店'], newsletters: ['weekly'] });
    await store().upsert([member]);
    expect(await store().read(member.tenant_id, 'm-1')).toEqual(member);
    expect((await store().find(member.tenant_id, ['m-1', 'm-2', 'm-1'])).members).toEqual([member]);
    expect(await all(member.tenant_id)).toEqual([{ email_hash: member.email_hash, members: [member] }]);
    expect(await store().address(member.tenant_id, member.email_hash)).toEqual({
      email_hash: member.email_hash,
      members: [{ ...member, came_at: expect.any(Number) }],
    });
    expect(await store().address(member.tenant_id, `${member.email_hash.slice(0, -1)}~`)).toBeUndefined();
    expect(await store().read('another', 'm-1')).toBeUndefined();
  });

  it('reads of a member what its mailing asks for', async () => {
    const member = storedMember(tenant(), 'm-1', { labels: ['vip', '大阪 店'], newsletters: ['weekly'] });
    await store().upsert([member]);
    const { tenant_id, member_id, email_hash, updated_at: _, ...rest } = member;
    const found = { ...rest, member_id };
    const all = ['member_id', 'status', 'labels', 'newsletters', 'created_at'] as const;
    const bare = { ...found, labels: [], created_at: '' };
    expect(await asked('addressees', tenant_id, ...all)).toMatchObject([{ email_hash, members: [found] }]);
    expect(await asked('addressees', tenant_id, 'status')).toMatchObject([{ email_hash, members: [bare] }]);
    const { member_uuid: __, sealed_identity: ___, ...subject } = found;
    expect(await asked('audience', tenant_id, ...all)).toMatchObject([{ email_hash, members: [subject] }]);
    expect(await asked('audience', tenant_id)).toMatchObject([{ members: [{ member_id, newsletters: ['weekly'] }] }]);
  });

  it('tells a mailing of its own unsubscriptions, and of all where segments can ask for newsletters', async () => {
    const member = storedMember(tenant(), 'm-1', { newsletters: ['weekly', 'daily'] });
    const { tenant_id, email_hash } = member;
    await store().upsert([member]);
    for (const id of ['weekly', 'daily']) await store().unsubscribe(tenant_id, email_hash, id, NOW);
    const unsubscribed = { weekly: NOW, daily: NOW };
    for (const kind of ['addressees', 'audience'] as const) {
      const [mine] = await asked(kind, tenant_id, 'status');
      expect(mine?.facts).toEqual({ tenant_id, email_hash, unsubscribed: { weekly: NOW } });
      const [every] = await asked(kind, tenant_id, 'newsletters');
      expect(every?.facts).toEqual({ tenant_id, email_hash, unsubscribed });
    }
  });

  it('replaces what changed, and keeps uuid and time of creation', async () => {
    const first = storedMember(tenant(), 'm-1');
    await store().upsert([first]);
    const second = {
      ...first,
      member_uuid: 'other',
      created_at: NOW,
      updated_at: NOW,
      status: 'paid',
      labels: [],
    } as const;
    await store().upsert([second]);
    await store().upsert([second]);
    const { member_uuid, created_at } = first;
    expect(await membersOf(first.tenant_id)).toEqual([{ ...second, member_uuid, created_at }]);
  });

  it('moves a member whose address changes, and leaves none behind', async () => {
    const first = storedMember(tenant(), 'm-1', { email: 'a@example.com' });
    const second = storedMember(first.tenant_id, 'm-1', { email: 'b@example.com' });
    for (const member of [first, second, second, first, second]) {
      await store().upsert([member]);
      expect(await membersOf(first.tenant_id)).toMatchObject([{ member_id: 'm-1', email_hash: member.email_hash }]);
      expect(await store().read(first.tenant_id, 'm-1')).toMatchObject({ email_hash: member.email_hash });
    }
    expect(await store().read(first.tenant_id, 'm-1')).toMatchObject({ member_uuid: first.member_uuid });
  });

  it('remembers the addresses that a member left, until that is settled', async () => {
    const first = storedMember(tenant(), 'm-1', { email: 'a@example.com' });
    const second = storedMember(first.tenant_id, 'm-1', { email: 'b@example.com' });
    const third = storedMember(first.tenant_id, 'm-1', { email: 'c@example.com' });
    const place = async () => {
      const found = (await store().find(first.tenant_id, ['m-1'])).places.get('m-1');
      if (found === undefined) throw new Error('the member has no place');
      return found;
    };
    await store().upsert([first]);
    await store().upsert([second]);
    const old = await place();
    expect(old.moved_from).toEqual([first.email_hash]);
    await store().upsert([third]);
    await store().settleMove(first.tenant_id, 'm-1', old);
    expect((await place()).moved_from).toEqual([first.email_hash, second.email_hash]);
    await store().upsert([third]);
    await store().settleMove(first.tenant_id, 'm-1', await place());
    await store().settleMove(first.tenant_id, 'm-1', await place());
    expect(await place()).not.toHaveProperty('moved_from');
    expect(await store().read(first.tenant_id, 'm-1')).toEqual(third);
    await store().upsert([first]);
    expect((await place()).moved_from).toEqual([third.email_hash]);
    const moved = await place();
    await store().remove(first.tenant_id, 'm-1');
    expect(await place()).toEqual({
      email_hash: first.email_hash,
      member_uuid: first.member_uuid,
      created_at: first.created_at,
      version: expect.any(Number),
      gone: true,
      moves: moved.moves,
    });
    expect((await place()).version).toBeGreaterThan(moved.version);
    await store().upsert([third]);
    expect(await place()).not.toHaveProperty('moved_from');
    expect(await place()).not.toHaveProperty('gone');
  });

  it('tells of addresses which members came from, and who left them, but not of who was deleted', async () => {
    const first = storedMember(tenant(), 'm-1', { email: 'a@example.com' });
    const { tenant_id } = first;
    const [a, b, c] = ['a', 'b', 'c'].map((name) => storedMember(tenant_id, 'm-1', { email: `${name}@example.com` }));
    if (a === undefined || b === undefined || c === undefined) throw new Error('no members');
    const moves = async ({ email_hash }: StoredMember) => {
      const entry = (await all(tenant_id)).find((one) => one.email_hash === email_hash);
      return entry?.moves?.get('m-1')?.map(({ from }) => from);
    };
    const begin = Date.now();
    await store().upsert([a]);
    expect(await moves(a)).toBeUndefined();
    await store().upsert([b]);
    expect([await moves(a), await moves(b)]).toEqual([[a.email_hash], [a.email_hash]]);
    await store().upsert([c]);
    await store().upsert([{ ...c, labels: ['kept'] }]);
    const came = [a.email_hash, b.email_hash];
    expect([await moves(a), await moves(b), await moves(c)]).toEqual([[a.email_hash], [b.email_hash], came]);
    const entry = await store().address(tenant_id, c.email_hash);
    const times = entry?.moves?.get('m-1')?.map(({ at }) => at) ?? [];
    expect(times).toEqual([...times].sort((x, y) => x - y));
    expect(times[0]).toBeGreaterThanOrEqual(begin);
    expect(times[1]).toBeLessThanOrEqual(Date.now() + 10);
    await store().upsert([a]);
    expect([await moves(a), await moves(c)]).toEqual([[...came, c.email_hash], [c.email_hash]]);
    for (let i = 0; i < 5; i++) await store().upsert([b, a].slice(i % 2, (i % 2) + 1));
    for (let i = 0; i < 5; i++) await store().upsert([c, a].slice(i % 2, (i % 2) + 1));
    expect(await moves(c), 'no more than ten').toHaveLength(10);
    await store().remove(tenant_id, 'm-1');
    expect([await moves(a), await moves(b), await moves(c)]).toEqual([[a.email_hash], [b.email_hash], undefined]);
    // A mailing that is prepared meanwhile knows who comes back by its id.
    await store().upsert([b]);
    expect([await moves(a), await moves(c)]).toEqual([[a.email_hash], [c.email_hash]]);
    expect((await moves(b))?.at(-1)).toBe(c.email_hash);
    const back = await store().address(tenant_id, b.email_hash);
    await store().remove(tenant_id, 'm-1');
    await store().upsert([b]);
    const same = await store().address(tenant_id, b.email_hash);
    expect(same?.moves, 'at the same address it keeps them').toEqual(back?.moves);
  });

  it('says when who is there came, and who is not left, by a move or a deletion', async () => {
    const tenant_id = tenant();
    const [stays, leaves] = ['m-1', 'm-2'].map((id) => storedMember(tenant_id, id, { email: 'a@example.com' }));
    if (stays === undefined || leaves === undefined) throw new Error('no members');
    const leftAt = async () => (await store().address(tenant_id, stays.email_hash))?.left?.get('m-2');
    await store().upsert([stays, leaves]);
    expect(await leftAt()).toBeUndefined();
    const begin = Date.now();
    const cameAt = async () => (await store().address(tenant_id, stays.email_hash))?.members.map((one) => one.came_at);
    expect((await cameAt())?.every((at = Number.NaN) => at <= begin && at > begin - 60_000)).toBe(true);
    await store().upsert([storedMember(tenant_id, 'm-2', { email: 'b@example.com' })]);
    expect(await leftAt()).toBeGreaterThanOrEqual(begin);
    await store().upsert([leaves]);
    expect(await leftAt()).toBeUndefined();
    await store().remove(tenant_id, 'm-2');
    expect(await leftAt()).toBeGreaterThanOrEqual(begin);
  });

  it('leaves exactly one of many simultaneous upserts of one id with different addresses', async () => {
    const tenant_id = tenant();
    for (let round = 0; round < 5; round++) {
      const rivals = ['a', 'b', 'c', 'd'].map((name) =>
        storedMember(tenant_id, 'm-1', { email: `${name}@example.com` }),
      );
      await Promise.all(rivals.map((member) => store().upsert([member])));
      const members = await membersOf(tenant_id);
      expect(members).toHaveLength(1);
      expect(await store().read(tenant_id, 'm-1')).toEqual(members[0]);
    }
  });

  it('keeps a member stored or deleted, never half, when both are asked for at once', async () => {
    const tenant_id = tenant();
    for (let round = 0; round < 8; round++) {
      const member = storedMember(tenant_id, 'm-1', { email: `${round % 3}@example.com` });
      await Promise.all([store().upsert([member]), store().remove(tenant_id, 'm-1'), store().upsert([member])]);
      const found = await store().read(tenant_id, 'm-1');
      expect(await membersOf(tenant_id)).toEqual(found === undefined ? [] : [found]);
    }
  });

  it.each([
    ['moved', (member: StoredMember) => store().upsert([{ ...member, email_hash: `${member.email_hash}x` }])],
    ['was deleted', (member: StoredMember) => store().remove(member.tenant_id, member.member_id)],
    ['came', () => Promise.resolve()],
  ])('stores a member in one place who %s after it was looked for', async (how, change) => {
    const member = storedMember(tenant(), 'm-1');
    if (how !== 'came') await store().upsert([member]);
    const found = await store().find(member.tenant_id, ['m-1']);
    if (how === 'came') await store().upsert([{ ...member, email_hash: `${member.email_hash}x` }]);
    await change(member);
    const later = { ...member, labels: ['later'] };
    await store().upsert([later], found);
    expect(await membersOf(member.tenant_id)).toEqual([
      expect.objectContaining({ labels: ['later'], email_hash: member.email_hash }),
    ]);
  });

  it('stores a hundred members at once', async () => {
    const tenant_id = tenant();
    const members = Array.from({ length: 100 }, (_, i) => storedMember(tenant_id, `m-${i}`, { email: `${i}@e.jp` }));
    await store().upsert(members);
    expect(
      (
        await store().find(
          tenant_id,
          members.map(({ member_id }) => member_id),
        )
      ).members,
    ).toHaveLength(100);
  });

  it('deletes a member once, and takes it as a new one later', async () => {
    const first = storedMember(tenant(), 'm-1');
    await store().upsert([first]);
    expect(await store().remove(first.tenant_id, 'm-1')).toBe(true);
    expect(await store().remove(first.tenant_id, 'm-1')).toBe(false);
    expect(await store().read(first.tenant_id, 'm-1')).toBeUndefined();
    expect(await all(first.tenant_id)).toEqual([]);
    const second = { ...first, member_uuid: 'new', created_at: NOW };
    await store().upsert([second]);
    expect(await membersOf(first.tenant_id)).toEqual([second]);
    expect(await store().read(first.tenant_id, 'm-1')).toEqual(second);
  });

  it('keeps the facts of an address whatever becomes of its members', async () => {
    const member = storedMember(tenant(), 'm-1');
    const { tenant_id, email_hash } = member;
    await store().upsert([member]);
    await store().unsubscribe(tenant_id, email_hash, 'weekly', NOW);
    await store().suppress(tenant_id, email_hash, { reason: 'bounced', at: NOW });
    const facts = { tenant_id, email_hash, unsubscribed: { weekly: NOW }, suppressed: { reason: 'bounced', at: NOW } };
    for (const whom of ['audience', 'addressees'] as const)
      expect(await asked(whom, tenant_id)).toMatchObject([{ email_hash, facts }]);
    await store().upsert([{ ...member, newsletters: ['weekly'] }]);
    expect(await all(tenant_id)).toMatchObject([{ email_hash, members: [{ member_id: 'm-1' }], facts }]);
    await store().remove(tenant_id, 'm-1');
    expect(await all(tenant_id)).toEqual([{ email_hash, members: [], facts }]);
    await store().upsert([member]);
    expect(await store().facts(tenant_id, [email_hash, email_hash, 'none'])).toEqual(new Map([[email_hash, facts]]));
  });

  it.each(['complained', 'operator'] as const)(
    'lets `%s` replace a bounce, which says nothing of the person',
    async (reason) => {
      const tenant_id = tenant();
      const hash = storedMember(tenant_id, 'm').email_hash;
      await store().suppress(tenant_id, hash, { reason: 'bounced', at: NOW });
      await store().suppress(tenant_id, hash, { reason, at: '2026-11-23T00:00:00.000Z' });
      await store().suppress(tenant_id, hash, { reason: 'complained', at: '2026-11-24T00:00:00.000Z' });
      await store().suppress(tenant_id, hash, { reason: 'bounced', at: '2026-11-24T00:00:00.000Z' });
      const { suppressed } = (await store().facts(tenant_id, [hash])).get(hash) ?? {};
      expect(suppressed).toEqual({ reason, at: '2026-11-23T00:00:00.000Z' });
    },
  );

  it('keeps the first of several reports, and lifts only what is lifted', async () => {
    const tenant_id = tenant();
    const hash = storedMember(tenant_id, 'm').email_hash;
    const factsOf = async () => (await store().facts(tenant_id, [hash])).get(hash);
    await store().suppress(tenant_id, hash, { reason: 'complained', at: NOW });
    await store().suppress(tenant_id, hash, { reason: 'bounced', at: '2026-11-23T00:00:00.000Z' });
    await store().unsubscribe(tenant_id, hash, 'weekly', NOW);
    await store().unsubscribe(tenant_id, hash, 'weekly', '2026-11-23T00:00:00.000Z');
    await store().unsubscribe(tenant_id, hash, 'constructor', NOW);
    const unsubscribed = { weekly: NOW, constructor: NOW };
    expect(await factsOf()).toEqual({
      tenant_id,
      email_hash: hash,
      suppressed: { reason: 'complained', at: NOW },
      unsubscribed,
    });
    await store().unsuppress(tenant_id, hash);
    await store().resubscribe(tenant_id, hash, 'constructor');
    expect(await factsOf()).toEqual({ tenant_id, email_hash: hash, unsubscribed: { weekly: NOW } });
    await store().resubscribe(tenant_id, hash, 'weekly');
    await store().resubscribe(tenant_id, hash, 'never');
    await store().unsuppress(tenant_id, 'x'.repeat(22));
    expect(await factsOf()).toBeUndefined();
    expect(await all(tenant_id)).toEqual([]);
  });

  it('marks who is gone by newsletter, the last mark replacing the one before, and lifts the one that was read', async () => {
    const tenant_id = tenant();
    const hash = storedMember(tenant_id, 'm').email_hash;
    const factsOf = async () => (await store().facts(tenant_id, [hash])).get(hash);
    const deleted = { reason: 'deleted', at: NOW } as const;
    const moved = { reason: 'moved', at: '2026-11-23T00:00:00.000Z' } as const;
    await store().markGone(tenant_id, hash, ['weekly', 'constructor'], deleted);
    await store().markGone(tenant_id, hash, ['weekly'], moved);
    const marks = { constructor: deleted, weekly: moved };
    expect(await factsOf()).toEqual({ tenant_id, email_hash: hash, unsubscribed: {}, gone: marks });
    expect(await store().address(tenant_id, hash), 'only the facts tell it').toBeUndefined();
    expect(await all(tenant_id)).toEqual([]);
    await store().unsubscribe(tenant_id, hash, 'weekly', NOW);
    const [entry] = await all(tenant_id);
    expect(entry?.facts).toEqual({ tenant_id, email_hash: hash, unsubscribed: { weekly: NOW } });
    await store().liftGone(tenant_id, hash, 'weekly', NOW);
    expect((await factsOf())?.gone, 'a newer mark stays').toEqual(marks);
    await store().liftGone(tenant_id, hash, 'weekly', moved.at);
    await store().liftGone(tenant_id, hash, 'never', NOW);
    await store().liftGone(tenant_id, hash, 'constructor', NOW);
    await store().resubscribe(tenant_id, hash, 'weekly');
    await store().liftGone(tenant_id, 'x'.repeat(22), 'weekly', NOW);
    expect(await factsOf()).toBeUndefined();
    expect(await all(tenant_id)).toEqual([]);
  });

  it('goes through all addresses in the order of their hashes, and on from any place', async () => {
    const tenant_id = tenant();
    const members = Array.from({ length: 150 }, (_, i) =>
      // Every third address is shared by two members.
      storedMember(tenant_id, `m-${i}`, { email: `${i % 3 === 2 ? i - 1 : i}@example.com` }),
    );
    for (let i = 0; i < members.length; i += 25) await store().upsert(members.slice(i, i + 25));
    const alone = storedMember(tenant_id, 'gone', { email: 'gone@example.com' });
    await store().unsubscribe(tenant_id, alone.email_hash, 'weekly', NOW);
    const entries = await all(tenant_id);
    const hashes = entries.map(({ email_hash }) => email_hash);
    expect(hashes).toEqual([...new Set([...members, alone].map(({ email_hash }) => email_hash))].sort());
    expect(entries.flatMap((entry) => entry.members.map(({ member_id }) => member_id)).sort()).toEqual(
      members.map(({ member_id }) => member_id).sort(),
    );
    expect(entries.filter((entry) => entry.members.length === 2)).toHaveLength(50);
    for (const i of [0, 1, 42, hashes.length - 1]) {
      expect((await all(tenant_id, hashes[i])).map(({ email_hash }) => email_hash)).toEqual(hashes.slice(i + 1));
    }
  });

  it('keeps tenants apart, whatever their ids', async () => {
    const id = tenant();
    const tenants = [id, `${id}#id`, `${id}%23id`, `${id}#`, `${id}#m`];
    for (const tenant_id of tenants) await store().upsert([storedMember(tenant_id, 'm-1', { email: 'a@example.com' })]);
    for (const tenant_id of tenants) {
      expect(await membersOf(tenant_id)).toMatchObject([{ tenant_id }]);
      expect((await store().find(tenant_id, ['m-1'])).members).toMatchObject([{ tenant_id }]);
    }
  });

  it('takes ids with any characters', async () => {
    const tenant_id = tenant();
    const ids = ['#facts', 'a#m#b', "o'hara", '会員', '%', '"', '..', 'x'.repeat(50)];
    await store().upsert(ids.map((id) => storedMember(tenant_id, id, { email: 'same@example.com' })));
    const [entry, ...rest] = await all(tenant_id);
    expect(rest).toEqual([]);
    expect(entry?.members.map(({ member_id }) => member_id).sort()).toEqual([...ids].sort());
    for (const id of ids) expect(await store().remove(tenant_id, id)).toBe(true);
    expect(await all(tenant_id)).toEqual([]);
  });
}
