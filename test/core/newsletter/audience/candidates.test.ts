import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSegment } from '../../../../src/adapters/nql/parse-segment.ts';
import {
  type Audience,
  type Candidate,
  candidates,
  countAudience,
  openCandidate,
} from '../../../../src/core/newsletter/audience/candidates.ts';
import { segmentFields, segmentMatcher } from '../../../../src/core/newsletter/audience/segment.ts';
import { type StoredMember, UnreadableMemberError } from '../../../../src/core/newsletter/model/member.ts';
import type { AudienceQuery, MemberStore } from '../../../../src/core/newsletter/model/ports.ts';
import { createMemoryMembers } from '../../../../tools/simulation/twins/members.ts';
import { legibleSealing, storedMember } from '../../../support/newsletter/members.ts';

const AT = '2026-11-22T00:00:00.000Z';
const TENANT = 'tenant-1';
const PAID: Audience = {
  tenant_id: TENANT,
  newsletter_id: 'weekly',
  matches: ({ status }) => status === 'paid',
  fields: new Set(['status']),
  began: Date.parse(AT),
};

const all = async (store: MemberStore, audience = PAID, after?: string): Promise<Candidate[]> => {
  const found: Candidate[] = [];
  for await (const page of candidates(store, audience, after)) found.push(...page.candidates);
  return found;
};

const person = fc.record({
  address: fc.integer({ min: 0, max: 12 }),
  paid: fc.boolean(),
  subscribed: fc.integer({ min: 0, max: 9 }).map((draw) => draw > 1),
});
const fact = fc.record({
  address: fc.integer({ min: 0, max: 12 }),
  kind: fc.constantFrom('suppressed', 'weekly', 'daily'),
});
type Person = typeof person extends fc.Arbitrary<infer P> ? P : never;
type Fact = typeof fact extends fc.Arbitrary<infer F> ? F : never;

describe('a segment of another newsletter', () => {
  const audienceOf = async (segment: string): Promise<Audience> => {
    const parsed = await parseSegment(segment);
    return { ...PAID, matches: segmentMatcher(parsed, new Date(AT)), fields: segmentFields(parsed) };
  };

  it('has who gets that newsletter, and not who unsubscribed from it', async () => {
    const store = createMemoryMembers();
    const both = { newsletters: ['weekly', 'daily'] };
    const gets = storedMember(TENANT, 'gets', both);
    const left = storedMember(TENANT, 'left', both);
    await store.upsert([gets, left, storedMember(TENANT, 'never', { newsletters: ['weekly'] })]);
    await store.unsubscribe(TENANT, left.email_hash, 'daily', AT);
    const ids = async (segment: string) => {
      const audience = await audienceOf(segment);
      const found = (await all(store, audience)).map(({ member }) => member);
      expect(await countAudience(store, audience)).toBe(found.length);
      // The parts of a post are shown by the same.
      expect(found.every(audience.matches)).toBe(true);
      return found.map(({ member_id }) => member_id).sort();
    };
    expect(await ids('newsletter:daily')).toEqual(['gets']);
    expect(await ids("newsletter:~'dai'")).toEqual(['gets']);
    expect(await ids('newsletter:-daily')).toEqual(['left', 'never']);
    expect(await ids('newsletter:weekly')).toEqual(['gets', 'left', 'never']);
    expect(await ids('newsletter:daily,newsletter:-daily')).toEqual(['gets', 'left', 'never']);
  });
});

async function storeOf(people: readonly Person[], facts: readonly Fact[]): Promise<MemberStore> {
  const store = createMemoryMembers();
  const emailOf = (address: number, i = 0) => (i % 2 === 0 ? `a${address}@example.com` : ` A${address}@Example.com`);
  await store.upsert(
    people.map(({ address, paid, subscribed }, i) =>
      storedMember(TENANT, `m-${i}`, {
        email: emailOf(address, i),
        status: paid ? 'paid' : 'free',
        newsletters: subscribed ? ['weekly'] : ['daily'],
      }),
    ),
  );
  for (const { address, kind } of facts) {
    const { email_hash } = storedMember(TENANT, 'x', { email: emailOf(address) });
    if (kind === 'suppressed') await store.suppress(TENANT, email_hash, { reason: 'bounced', at: AT });
    else await store.unsubscribe(TENANT, email_hash, kind, AT);
  }
  return store;
}

describe('the candidates of an email', () => {
  it('are the subscribed members that match: each once, and each address is sent to at most once', async () => {
    const seen = { recipients: 0, suppressed: 0, repeated_address: 0, unsubscribed: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(person, { minLength: 5, maxLength: 60 }),
        fc.array(fact, { maxLength: 12 }),
        async (people, facts) => {
          const store = await storeOf(people, facts);
          const found = await all(store);
          const has = (address: number, kind: Fact['kind']) =>
            facts.some((one) => one.address === address && one.kind === kind);
          const expected = people.flatMap(({ address, paid, subscribed }, i) =>
            paid && subscribed && !has(address, 'weekly') ? [{ id: `m-${i}`, address }] : [],
          );
          seen.unsubscribed += people.length - expected.length;
          expect(found.map(({ member }) => member.member_id).sort()).toEqual(expected.map(({ id }) => id).sort());
          for (const [address, same] of Map.groupBy(expected, (one) => one.address)) {
            const those = found.filter(({ member }) => same.some(({ id }) => id === member.member_id));
            const reasons = those.map(({ excluded }) => excluded);
            if (has(address, 'suppressed')) expect(reasons).toEqual(reasons.map(() => 'suppressed'));
            else expect(reasons).toEqual([undefined, ...reasons.slice(1).map(() => 'repeated_address')]);
            for (const reason of reasons) seen[reason ?? 'recipients'] += 1;
          }
          expect(await countAudience(store, PAID)).toBe(found.filter(({ excluded }) => excluded === undefined).length);
          // The pass goes on after any address as if it had not been interrupted.
          const at = found[Math.floor(found.length / 2)]?.member.email_hash;
          const rest = found.filter(({ member }) => at !== undefined && member.email_hash > at);
          if (at !== undefined) expect(await all(store, PAID, at)).toEqual(rest);
        },
      ),
      { numRuns: 150 },
    );
    // Each kind was drawn; how often is chance.
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
  });

  it('come with the place that the pass has reached, also where a page has nobody', async () => {
    const store = createMemoryMembers();
    await store.upsert(
      Array.from({ length: 60 }, (_, i) => storedMember(TENANT, `m-${i}`, { email: `m${i}@example.com` })),
    );
    const read: [string, number][] = [];
    for await (const page of candidates(store, PAID)) read.push([page.email_hash, page.candidates.length]);
    expect(read.length).toBeGreaterThan(0);
    expect(read.map(([, count]) => count)).toEqual(read.map(() => 0));
    const rest = candidates(store, PAID, read.at(-1)?.[0]);
    expect((await rest.next()).done, 'nothing comes after the last place').toBe(true);
  });

  it('may be called as a property of every object is', async () => {
    const store = createMemoryMembers();
    await store.upsert([storedMember(TENANT, 'm', { newsletters: ['constructor'] })]);
    const audience = { ...PAID, newsletter_id: 'constructor', matches: () => true };
    expect(await all(store, audience)).toHaveLength(1);
  });

  it('with an address that is none any more are excluded when they are opened', async () => {
    const sealing = legibleSealing();
    const good = storedMember(TENANT, 'm', { email: 'a@example.com' });
    const bad = storedMember(TENANT, 'm', { email: 'a at example.com' });
    expect(await openCandidate({ member: good }, sealing)).toEqual({
      member: good,
      identity: { email: 'a@example.com' },
    });
    expect(await openCandidate({ member: bad }, sealing)).toMatchObject({ excluded: 'malformed_address' });
    const unreadable = { ...sealing, openMember: () => Promise.reject(new UnreadableMemberError('altered')) };
    expect(await openCandidate({ member: bad }, unreadable)).toMatchObject({ excluded: 'unreadable_address' });
    const down = { ...sealing, openMember: () => Promise.reject(new Error('KMS')) };
    await expect(openCandidate({ member: bad }, down)).rejects.toThrow('KMS');
    expect(await openCandidate({ member: bad, excluded: 'suppressed' }, sealing)).toMatchObject({
      excluded: 'suppressed',
    });
  });
});

/** Addresses in the order of their hashes, with 150 others between them: more than a page. */
const [FIRST, LAST, BEHIND] = ['-', '~', '~~'];
const PAYING = { status: 'paid', newsletters: ['weekly'] } as const;
const at = (email_hash: string, id = 'mover') => storedMember(TENANT, id, { ...PAYING, email_hash });

/** The candidates of a pass that is cut after its first page, where the members change, and goes on from there. */
async function foundAround(
  before: readonly StoredMember[],
  change: (store: MemberStore) => Promise<unknown>,
): Promise<(readonly [id: string, hash: string, excluded: string | undefined])[]> {
  let now = Date.parse(AT) - 60_000;
  const store = createMemoryMembers(() => new Date(now));
  const between = Array.from({ length: 150 }, (_, i) => storedMember(TENANT, `m-${i}`, PAYING));
  await store.upsert([...between, ...before.map((one) => ({ ...one, email_hash: 'earlier' }))]);
  await store.upsert(before);
  const found: Candidate[] = [];
  for await (const page of candidates(store, PAID)) {
    found.push(...page.candidates);
    now = Date.parse(AT) + 1;
    await change(store);
    for await (const rest of candidates(store, PAID, page.email_hash)) found.push(...rest.candidates);
    break;
  }
  return found.flatMap(({ member: { member_id, email_hash }, excluded }) =>
    member_id.startsWith('m-') ? [] : [[member_id, email_hash, excluded] as const],
  );
}

const change = fc.record({
  who: fc.integer({ min: 0, max: 3 }),
  to: fc.integer({ min: 0, max: 3 }),
  what: fc.constantFrom('move', 'move', 'delete', 'create'),
  seconds: fc.constantFrom(0, 1),
});

describe('any members who move, are deleted, come back and are created while the pass runs', () => {
  it('are candidates once, and so is each address; nobody is missed who stayed, or whose address went to another one', async () => {
    let [changed, deleted, created] = [0, 0, 0];
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 4 }),
        fc.array(change),
        fc.nat(4),
        async (homes, changes, early) => {
          let now = Date.parse(AT) - 60_000;
          const store = createMemoryMembers(() => new Date(now));
          const addresses = ['b', 'f', 'p', 'u'];
          const stay = (who: number, to: number) =>
            storedMember(TENANT, `m${who}`, { ...PAYING, email_hash: addresses[to] ?? '' });
          await store.upsert(homes.map((to, who) => stay(who, to)));
          now = Date.parse(AT) + 1;
          const left = [...changes];
          const happen = async (most: number) => {
            for (const { who, to, what, seconds } of left.splice(0, most)) {
              if (who >= homes.length && what !== 'create') continue;
              now += 1 + seconds * 1_000;
              if (what === 'delete') deleted += Number(await store.remove(TENANT, `m${who}`));
              // In the order of ids before the others, or behind them.
              else if (what === 'create')
                await store.upsert([{ ...stay(who, to), member_id: `${'az'[who % 2]}${created++}` }]);
              else await store.upsert([stay(who, to)]);
              changed += 1;
            }
          };
          /** One address after the other, as the pages of a large tenant bring them. */
          async function* addressees(query: AudienceQuery, after?: string) {
            for (let hash = after; ; ) {
              const [entry] = (await store.addressees(query, hash)[Symbol.asyncIterator]().next()).value ?? [];
              if (entry === undefined) return;
              yield [entry];
              hash = entry.email_hash;
            }
          }
          const found: Candidate[] = [];
          await happen(early);
          for await (const page of candidates({ ...store, addressees }, PAID)) {
            found.push(...page.candidates);
            await happen(2);
          }
          const sent = found.filter(({ excluded }) => excluded === undefined);
          for (const key of ['member_id', 'email_hash'] as const)
            expect(sent.length).toBe(new Set(sent.map(({ member }) => member[key])).size);
          const gets = new Set(sent.map(({ member }) => member.email_hash));
          for (const [who, to] of homes.entries())
            if (changes.every((one) => one.who !== who || one.what === 'create')) expect(gets).toContain(addresses[to]);
        },
      ),
      { numRuns: 2_000 },
    );
    for (const count of [changed, deleted, created]) expect(count).toBeGreaterThan(500);
  });
});

describe('a member who moves while the pass runs', () => {
  it.each([
    ['ahead of it', FIRST, [LAST], FIRST],
    ['behind it', LAST, [FIRST], FIRST],
    ['ahead of it twice', FIRST, [LAST, BEHIND], FIRST],
    ['behind it, and back', LAST, [FIRST, LAST], LAST],
    ['ahead of it, and back', FIRST, [LAST, FIRST], FIRST],
    ['to the last address by way of the first', LAST, [FIRST, BEHIND], BEHIND],
  ])('is a candidate once: %s', async (_, from, tos, is) => {
    const found = await foundAround([at(from)], async (store) => {
      for (const to of tos) await store.upsert([at(to), { ...at(to), labels: ['kept'] }]);
    });
    expect(found).toEqual([['mover', is, undefined]]);
  });

  it.each([
    ['that follows', BEHIND, LAST, undefined],
    ['that was before', LAST, BEHIND, undefined],
    ['that is among the recipients', FIRST, LAST, 'repeated_address'],
  ] as const)('to an address %s, whose member went elsewhere: both are candidates', async (_, given, own, excluded) => {
    const found = await foundAround([at(given, 'first'), at(own, 'second')], async (store) => {
      await store.upsert([at('~~~', 'first')]);
      await store.upsert([at(given, 'second')]);
    });
    const first = given === FIRST ? FIRST : '~~~';
    expect(found.toSorted()).toEqual([
      ['first', first, undefined],
      ['second', given, excluded],
    ]);
  });

  it('to an address where another one is created then: the address is a candidate once', async () => {
    for (const id of ['a', 'z']) {
      const found = await foundAround([at(BEHIND)], async (store) => {
        await store.upsert([at(LAST)]);
        await store.upsert([at(LAST, id)]);
      });
      expect(found.flatMap(([, hash, excluded]) => (excluded === undefined ? [hash] : []))).toEqual([LAST]);
    }
  });

  it('is none where it was deleted since, and where it came back a new one at its address', async () => {
    const leave = async (store: MemberStore) => {
      await store.upsert([at(FIRST)]);
      await store.remove(TENANT, 'mover');
    };
    expect(await foundAround([at(LAST)], leave)).toEqual([]);
    const found = await foundAround([at(LAST)], async (store) => {
      await leave(store);
      await store.upsert([at(BEHIND)]);
    });
    expect(found).toEqual([['mover', BEHIND, undefined]]);
  });

  it('has its present segment', async () => {
    const free = { ...at(FIRST), status: 'free' } as const;
    expect(await foundAround([at(LAST)], (store) => store.upsert([free]))).toEqual([]);
  });

  it.each([
    ['ahead', FIRST, LAST],
    ['back', LAST, FIRST],
  ])('%s to the address of another one is excluded there, whatever their ids', async (_, from, to) => {
    for (const other of ['a', 'z']) {
      const found = await foundAround([at(from), at(to, other)], (store) => store.upsert([at(to)]));
      const excluded = from === FIRST ? undefined : 'repeated_address';
      expect(found.find(([id]) => id === other)).toEqual([other, to, undefined]);
      expect(found.find(([id]) => id === 'mover')?.[2]).toBe(excluded);
      expect(found).toHaveLength(2);
    }
  });

  it.each(['a', 'z'])(
    'to an address that nobody had is the recipient there once, beside %s who moves too',
    async (other) => {
      const found = await foundAround([at(LAST), at(BEHIND, other)], (store) =>
        store.upsert([at(FIRST), at(FIRST, other)]),
      );
      expect(found.filter(([, hash]) => hash === FIRST)).toHaveLength(2);
      expect(found.filter(([, , excluded]) => excluded === undefined)).toEqual([
        [other === 'a' ? 'a' : 'mover', FIRST, undefined],
      ]);
    },
  );
});
