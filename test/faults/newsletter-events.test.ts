import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countStates } from '../../src/core/newsletter/accounting/counts.ts';
import { applyEvents } from '../../src/core/newsletter/events/apply-events.ts';
import { unsubscribe } from '../../src/core/newsletter/events/unsubscribe.ts';
import { upsertMembers } from '../../src/core/newsletter/members/upsert-members.ts';
import { CHUNK_SIZE } from '../../src/core/newsletter/model/batch.ts';
import { type EventKind, hasBit, type NewsletterEvent, WENT_ON } from '../../src/core/newsletter/model/batch-events.ts';
import { DEFAULT_JOB_LIMITS } from '../../src/core/newsletter/model/job-limits.ts';
import { createRandom, VirtualTime } from '../../tools/simulation/engine/virtual-time.ts';
import { WorkerProcess } from '../../tools/simulation/models/worker-process.ts';
import { type Surroundings, through } from '../../tools/simulation/newsletter/stores.ts';
import { NO_FAULTS } from '../../tools/simulation/scenarios/newsletter-scenario.ts';
import { createMemoryMembers } from '../../tools/simulation/twins/members.ts';
import { MemoryChunks, MemoryEmails } from '../../tools/simulation/twins/newsletter-items.ts';
import { batchFor, chunkState, emailContent, emailRow, recipient } from '../support/newsletter/job-rows.ts';
import { legibleSealing } from '../support/newsletter/members.ts';

const TENANT = 'tenant-1';
const CHUNKS = 2;
const SIZE = 3;
const PEOPLE = CHUNKS * SIZE;
const KINDS: Readonly<Record<string, Pick<NewsletterEvent, 'kinds' | 'suppress' | 'rejected'>>> = {
  send: { kinds: ['accepted'] },
  delivery: { kinds: ['accepted', 'delivered'] },
  open: { kinds: ['accepted', 'opened'] },
  click: { kinds: ['accepted', 'clicked'] },
  bounce: { kinds: ['accepted', 'bounced'], suppress: 'bounced' },
  complaint: { kinds: ['accepted', 'complained'], suppress: 'complained' },
  reject: { kinds: ['rejected'], rejected: 'rejected' },
};

/** What comes from outside: an event (of a recipient that may not exist), a click on an unsubscribe link, a new address. */
const happening = fc.record({
  at_s: fc.nat({ max: 5 }),
  what: fc.constantFrom(...Object.keys(KINDS), 'unsubscribe', 'unsubscribe', 'move', 'move'),
  who: fc.nat({ max: PEOPLE + 1 }),
  times: fc.constantFrom(1, 1, 2, 3),
});
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

const oldAddress = (who: number) => `m${who}@example.com`;
const newAddress = (who: number) => `moved${who}@example.com`;

/** A sent batch on the in-memory twins. Every call of storage takes time, and may fail before or after its effect. */
class EventWorld {
  readonly time = new VirtualTime(new Date('2026-03-01T10:00:00.000Z'));
  readonly tables = new MemoryEmails(this.time.clock);
  readonly chunks = new MemoryChunks();
  readonly members = createMemoryMembers();
  readonly sealing = legibleSealing();
  reported = { bounced: 0, complained: 0 };
  refused = 0;
  readonly #around: Surroundings;

  constructor(seed: number, failing: number) {
    const draw = createRandom(seed, 'events');
    this.#around = { time: this.time, draw, faults: { ...NO_FAULTS, failing } };
  }

  async setUp(states: string): Promise<void> {
    await this.tables.emails.create(emailRow({ status: 'submitted' }), emailContent());
    const all = Array.from({ length: CHUNKS }, (_, chunk) =>
      chunkState(states.slice(chunk * SIZE, (chunk + 1) * SIZE), { chunk }),
    );
    const put = all.map((state) => ({
      chunk: {
        email_id: 'email-1',
        batch_id: '00000',
        chunk: state.chunk,
        tenant_id: TENANT,
        recipients: [...state.states].map((_, n) => recipient(state.chunk * SIZE + n)),
      },
      state,
    }));
    await this.chunks.store.put(put);
    await this.tables.batches.put(batchFor(all, { status: 'submitted', warmed_domain: 'own.example.com' }));
    for (let who = 0; who < PEOPLE; who++) await this.#move(who, oldAddress(who), this.members);
  }

  /** Repeats what failed, as SQS, a mail program and a producer do. */
  async happen({ at_s, what, who, times }: Happening): Promise<void> {
    await this.time.pause(at_s * 1_000);
    const one = async () => {
      for (let tries = 0; ; tries++) {
        const around = tries > 20 ? { ...this.#around, faults: NO_FAULTS } : this.#around;
        try {
          return await this.#once(what, who, <T extends object>(port: T) =>
            through(around, new WorkerProcess(this.time, () => {}), port),
          );
        } catch (error) {
          if ((error as Error).name !== 'ThrottlingException') throw error;
          this.refused += 1;
        }
      }
    };
    await Promise.all(Array.from({ length: times }, one));
  }

  async #once(what: string, who: number, called: <T extends object>(port: T) => T): Promise<unknown> {
    const members = called({ ...this.members, addresses: async () => {} }) as unknown as typeof this.members;
    const deps = {
      emails: called(this.tables.emails),
      batches: called(this.tables.batches),
      chunks: called(this.chunks.store),
      events: called(this.tables.events),
      members,
      sealing: this.sealing,
      warming: {
        report: async (_: string, { bounced, complained }: { bounced: number; complained: number }) => {
          this.reported = {
            bounced: this.reported.bounced + bounced,
            complained: this.reported.complained + complained,
          };
        },
      },
      clock: this.time.clock,
      limits: DEFAULT_JOB_LIMITS,
    };
    const place = { email_id: 'email-1', batch_id: '00000', chunk: Math.floor(who / SIZE), n: who % SIZE };
    if (what === 'move') return who < PEOPLE && this.#move(who, newAddress(who), members);
    if (what === 'unsubscribe') return unsubscribe(place, deps);
    const told = KINDS[what];
    return told && applyEvents('email-1', '00000', [{ ...place, ...told }], deps);
  }

  #move(who: number, email: string, members: typeof this.members) {
    const deps = { members, sealing: this.sealing, clock: this.time.clock, newId: () => `uuid-${who}` };
    return upsertMembers(TENANT, [{ member_id: `m-${who}`, email, newsletters: ['news'] }], deps);
  }

  async factsOf(email: string) {
    const hash = await this.sealing.emailHash(TENANT, email);
    return (await this.members.facts(TENANT, [hash])).get(hash);
  }
}

/** What the world must show for a recipient, from what happened alone. */
async function audit(world: EventWorld, states: string, happened: readonly Happening[]): Promise<void> {
  const { bits } = await world.tables.events.read('email-1', '00000');
  const found = (await world.chunks.store.states('email-1', '00000')).map(({ states: codes }) => codes).join('');
  const of = (who: number) => new Set(happened.filter((one) => one.who === who).map(({ what }) => what));
  for (let who = 0; who < PEOPLE; who++) {
    const what = of(who);
    const kinds = new Set<EventKind>([...what].flatMap((name) => KINDS[name]?.kinds ?? []));
    if (what.has('unsubscribe')) kinds.add('unsubscribed');
    const place = Math.floor(who / SIZE) * CHUNK_SIZE + (who % SIZE);
    for (const kind of ['accepted', 'delivered', 'opened', 'clicked', 'bounced', 'complained', 'unsubscribed'] as const)
      expect(hasBit(bits[kind], place), `${kind} of ${who}`).toBe(kinds.has(kind));
    const accepted = states[who] === 'u' && kinds.has('accepted') ? 's' : states[who];
    // Beside a mail that was refused late, another one may go on.
    const rejected = WENT_ON.some((kind) => kinds.has(kind)) ? 's' : 'f';
    expect(found[who], `the state of ${who}, which was ${states[who]}`).toBe(what.has('reject') ? rejected : accepted);
    const [before, now] = [await world.factsOf(oldAddress(who)), await world.factsOf(newAddress(who))];
    expect(before?.suppressed !== undefined, `${who} is suppressed`).toBe(what.has('bounce') || what.has('complaint'));
    expect(Object.hasOwn(before?.unsubscribed ?? {}, 'news')).toBe(what.has('unsubscribe'));
    if (!what.has('move')) continue;
    expect(Object.hasOwn(now?.unsubscribed ?? {}, 'news'), `${who} at the present address`).toBe(
      what.has('unsubscribe'),
    );
    // The first reason of an address stays: a complaint after a bounce is not carried on by a later move.
    if (what.has('complaint') && !what.has('bounce')) expect(now?.suppressed?.reason).toBe('complained');
    if (!what.has('complaint')) expect(now?.suppressed, `${who} bounced elsewhere`).toBeUndefined();
  }
  const batch = await world.tables.batches.read('email-1', '00000');
  expect(batch?.counts, 'the counts of the batch').toEqual(countStates(found));
  const bounces = happened.filter(({ what, who }) => what === 'bounce' && who < PEOPLE);
  // Whoever sets the same bit at the same moment reports it, too; what a failure interrupts is not reported.
  const most = bounces.reduce((sum, { times }) => sum + times, 0);
  expect(world.reported.bounced, 'bounces of the day').toBeLessThanOrEqual(most);
  const least = world.refused === 0 ? new Set(bounces.map(({ who }) => who)).size : 0;
  expect(world.reported.bounced).toBeGreaterThanOrEqual(least);
}

/** A complaint found nobody failed, and the rejection of another mail, told at the same moment, failed them. */
const TOLD_AT_THE_SAME_MOMENT: [string, Happening[], number, number] = [
  'ssssus',
  [
    { at_s: 0, what: 'send', who: 0, times: 1 },
    { at_s: 3, what: 'complaint', who: 1, times: 1 },
    { at_s: 0, what: 'send', who: 0, times: 1 },
    { at_s: 3, what: 'reject', who: 1, times: 1 },
    { at_s: 0, what: 'send', who: 1, times: 1 },
  ],
  1_141_880_594,
  0,
];

/** A history that once ended with mail for somebody who had unsubscribed: the move was repeated as if nothing had moved. */
const MOVED_WHILE_THE_ANSWER_WAS_LOST: [string, Happening[], number, number] = [
  'ssssss',
  [
    { at_s: 0, what: 'send', who: 0, times: 1 },
    { at_s: 0, what: 'complaint', who: 0, times: 3 },
    { at_s: 0, what: 'move', who: 5, times: 1 },
    { at_s: 0, what: 'unsubscribe', who: 5, times: 1 },
  ],
  919_674_473,
  0.05,
];

describe('any events, unsubscriptions and new addresses, in any order, twice, late, of nobody, while storage fails', () => {
  it('end in what they say: bits, states, counts, suppressions and unsubscriptions', async () => {
    let [refused, moved, resolved] = [0, 0, 0];
    const runs = Number(process.env['NEWSLETTER_FAULT_RUNS'] ?? 100);
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: fc.constantFrom('s', 's', 'u', 'u'), minLength: PEOPLE, maxLength: PEOPLE }),
        fc.array(happening, { maxLength: 25, size: 'max' }),
        fc.nat(),
        fc.constantFrom(0, 0.05, 0.2),
        async (states, happened, seed, failing) => {
          const world = new EventWorld(seed, failing);
          await world.setUp(states);
          await world.time.run(Promise.all(happened.map((one) => world.happen(one))).then(() => undefined));
          await audit(world, states, happened);
          refused += world.refused;
          moved += happened.filter(({ what }) => what === 'move').length;
          resolved += [...states].filter((code) => code === 'u').length;
        },
      ),
      { numRuns: runs, examples: [TOLD_AT_THE_SAME_MOMENT, MOVED_WHILE_THE_ANSWER_WAS_LOST] },
    );
    for (const [what, count] of Object.entries({ refused, moved, resolved }))
      expect(count, what).toBeGreaterThan(runs / 5);
  }, 300_000);
});
