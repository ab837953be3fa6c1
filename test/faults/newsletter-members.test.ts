import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countsOf } from '../../src/core/newsletter/accounting/counts.ts';
import { pauseEmail, resumeEmail, retryEmail } from '../../src/core/newsletter/lifecycle/operate.ts';
import { MembersAuditor } from '../../tools/simulation/audit/members-auditor.ts';
import { ChangingMembers, CURVE, OWN_DOMAIN } from '../../tools/simulation/newsletter/changing-members.ts';
import { legibleSealing } from '../support/newsletter/members.ts';

const TENANTS = ['tenant-1', 'tenant-2'] as const;
const MEMBERS = 5;
const MAILINGS = 4;

const step = fc.record({
  seconds: fc.constantFrom(0, 0, 1, 2, 5, 60, 3_600, 43_200, 86_400),
  tenant: fc.constantFrom(...TENANTS),
  who: fc.nat({ max: MEMBERS - 1 }),
  to: fc.nat({ max: MEMBERS }),
  mailing: fc.nat({ max: MAILINGS - 1 }),
  do: fc.constantFrom(
    ...([
      'erase',
      'delete',
      'delete',
      'take_away',
      'unsubscribe',
      'unsubscribe_daily',
      'add',
      'create',
      'move',
    ] as const),
    ...(['publish', 'publish', 'publish', 'refuse', 'accept', 'pause', 'resume', 'retry'] as const),
  ),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const home = (who: number) => `m${who}@example.com`;

class History {
  readonly audit = new MembersAuditor(OWN_DOMAIN);
  readonly world: ChangingMembers;
  /** When each mailing was published, and by whom. */
  readonly published = new Map<string, { readonly tenant: string; readonly segment?: string; readonly at: number }>();
  readonly seen: Record<string, number> = {};
  readonly #places = new Map<string, { address: string; newsletters: string[] }>();

  constructor(seed: number, failing: number) {
    this.world = new ChangingMembers(seed, failing, legibleSealing(), this.audit);
  }

  async begin(): Promise<void> {
    for (const tenant of TENANTS) {
      for (let who = 0; who < MEMBERS; who++) {
        await this.#give(tenant, who, {
          address: home(who),
          newsletters: who % 2 === 0 ? ['news', 'daily'] : ['news'],
        });
      }
    }
  }

  async #give(tenant: string, who: number, person: { address: string; newsletters: string[] }): Promise<void> {
    const { world, audit } = this;
    audit.coming(tenant, person.address);
    const { address: email, newsletters } = person;
    await world.give(tenant, { member_id: `m${who}`, email, newsletters });
    this.#places.set(`${tenant} ${who}`, person);
    audit.is(tenant, `m${who}`, person, world.time.now);
  }

  async take({ tenant, who, to, mailing, ...action }: Step): Promise<void> {
    const { world, audit } = this;
    this.seen[action.do] = (this.seen[action.do] ?? 0) + 1;
    const place = this.#places.get(`${tenant} ${who}`);
    const email_id = `email-${mailing}`;
    const operate = (run: typeof pauseEmail) =>
      world.surely(() => run(email_id, world.deps(tenant))).catch(() => undefined);
    switch (action.do) {
      case 'erase':
      case 'delete':
        await world.remove(tenant, `m${who}`, action.do === 'erase' ? 'erased' : 'deleted');
        this.#places.delete(`${tenant} ${who}`);
        return audit.is(tenant, `m${who}`, undefined, world.time.now);
      case 'take_away':
        return place && this.#give(tenant, who, { ...place, newsletters: ['daily'] });
      case 'add':
        return this.#give(tenant, who, { address: place?.address ?? home(to), newsletters: ['news', 'daily'] });
      case 'create': {
        const next = MEMBERS + (this.seen['create'] ?? 0);
        return this.#give(tenant, next, { address: home(to), newsletters: ['news', 'daily'] });
      }
      case 'move':
        return place && this.#give(tenant, who, { ...place, address: home(to) });
      case 'unsubscribe':
      case 'unsubscribe_daily': {
        const newsletter = action.do === 'unsubscribe' ? 'news' : 'daily';
        await world.unsubscribe(tenant, home(to), newsletter);
        return audit.unsubscribed(tenant, home(to), newsletter, world.time.now);
      }
      case 'publish': {
        const segment = mailing % 2 === 1 ? 'newsletter:daily' : undefined;
        if (this.published.has(email_id)) return;
        this.published.set(email_id, { tenant, at: world.time.now, ...(segment && { segment }) });
        return world.publish(email_id, tenant, segment);
      }
      case 'refuse':
        return void world.refused.add(email_id);
      case 'accept':
        return void world.refused.delete(email_id);
      case 'pause':
        return void (await operate(pauseEmail));
      case 'resume':
        return void (await operate(resumeEmail));
      case 'retry':
        return void (await operate(retryEmail));
    }
  }

  /** Everything is mended, and each mailing that can go on does. */
  async end(): Promise<void> {
    const { world } = this;
    world.refused.clear();
    world.failing = 0;
    for (let looks = 0; looks < 72; looks++) {
      let open = 0;
      for (const [email_id, { tenant }] of this.published) {
        const email = await world.tables.emails.read(email_id);
        if (email?.paused) await resumeEmail(email_id, world.deps(tenant));
        if (email?.status === 'failed' && email.prepared) await retryEmail(email_id, world.deps(tenant));
        if (email?.status !== 'submitted' && !(email?.status === 'failed' && !email.prepared)) open += 1;
      }
      // The clock's last run ends within seconds.
      await world.time.pause(5_000);
      if (open === 0 && !world.isBusy) return;
      await world.pass(looks < 60 ? 300_000 : 3_600_000);
    }
    this.audit.violated('a mailing does not end');
  }

  async check(): Promise<void> {
    const { world, audit } = this;
    for (const fault of world.faults) audit.violated(fault);
    this.seen['days with mails'] = audit.checkDays(CURVE);
    for (const [mail] of audit.mails) {
      const [email_id = '', address = ''] = mail.split(' ');
      const { tenant = '', segment, at = 0 } = this.published.get(email_id) ?? {};
      const left = audit.unsubscribedAt(tenant, address, 'daily') ?? Number.POSITIVE_INFINITY;
      if (segment !== undefined && left < at) audit.violated(`${address} is in newsletter:daily, and has left it`);
    }
    for (const [email_id] of this.published) {
      const email = await world.tables.emails.read(email_id);
      if (email?.prepared === undefined) continue;
      const batches = await world.tables.batches.list(email_id);
      const { recipients, pending, submitted, excluded, failed, uncertain } = countsOf(email, batches);
      if (recipients !== pending + submitted + excluded + failed + uncertain) audit.violated('the sums do not hold');
      const got = [...audit.mails.keys()].filter((mail) => mail.startsWith(`${email_id} `)).length;
      if (submitted !== got) audit.violated(`${submitted} are submitted, and ${got} got a mail`);
      for (const { excluded_by_reason } of batches) {
        for (const [reason, count] of Object.entries(excluded_by_reason))
          this.seen[`excluded ${reason}`] = (this.seen[`excluded ${reason}`] ?? 0) + count;
      }
    }
    expect(audit.violations).toEqual([]);
  }
}

/** A history is as long as five of the other newsletter histories. */
const RUNS = Math.ceil(Number(process.env['NEWSLETTER_FAULT_RUNS'] ?? 160) / 5);

describe('any history of members who are erased, deleted, taken away, unsubscribed, added again, created and moved, on one warmed domain of two tenants, over days', () => {
  it(
    'mails nobody who was gone, each address once, and no day more than its domain is allowed',
    async () => {
      const seen: Record<string, number> = {};
      await fc.assert(
        fc.asyncProperty(
          fc.nat(),
          fc.constantFrom(0, 0, 0.05),
          fc.subarray([0, 1, 2, 3]),
          fc.array(step, { minLength: 6, maxLength: 20, size: 'max' }),
          async (seed, failing, refused, steps) => {
            const history = new History(seed, failing);
            const { world } = history;
            for (const mailing of refused) world.refused.add(`email-${mailing}`);
            await world.time.run(async () => {
              await history.begin();
              for (const action of steps) {
                await world.pass(action.seconds * 1_000);
                await history.take(action);
              }
              await history.end();
            });
            await history.check();
            for (const [what, count] of Object.entries(history.seen)) seen[what] = (seen[what] ?? 0) + count;
          },
        ),
        { numRuns: RUNS },
      );
      if (process.env['SHOW_HISTORIES'] !== undefined) console.log(seen);
      for (const what of ['erased', 'deleted', 'removed', 'moved', 'unsubscribed'])
        expect(seen[`excluded ${what}`] ?? 0, what).toBeGreaterThan(RUNS / 100);
      expect(seen['days with mails']).toBeGreaterThan(RUNS / 2);
    },
    Math.max(300_000, RUNS * 500),
  );
});
