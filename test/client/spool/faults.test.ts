import { inspect } from 'node:util';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NotHandedOverError } from '../../../src/client/hand-over-or-spool.ts';
import type { Notification } from '../../../src/client/handover/notification.ts';
import { isUnreported } from '../../../src/client/spool/spool-names.ts';
import { problem } from '../../support/client/api-stand-in.ts';
import { Died, errno, faultyFs } from '../../support/client/faulty-fs.ts';
import { notification, startWorld, type World } from '../../support/client/world.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.end());

const many = (count: number) => Array.from({ length: count }, (_, n) => notification(n));
const idsOf = (bodies: readonly unknown[]) =>
  bodies.map((body) => String((body as Notification).notification_id)).sort();
const kept = async () =>
  idsOf([...(await world.items('spool')), ...(await world.items('failed'))].map(({ body }) => body));

describe('a disk that fails', () => {
  it.each(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS'])(
    "%s: send fails loudly, and the notification is still the caller's",
    async (code) => {
      await world.api.stop();
      const full = faultyFs((_, name) => (name === 'file.writeFile' ? errno(code) : undefined));
      const failed = await world
        .client({}, full)
        .send(notification(1))
        .catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(NotHandedOverError);
      expect(failed).toMatchObject({ notifications: [notification(1)], results: [undefined] });
      expect(inspect(failed, { depth: 9 }) + JSON.stringify(failed)).not.toMatch(/someone|Text 1/);
      expect(world.files('spool')).toEqual([]);
      await world.api.start();
      expect(await world.client({}, full).send(notification(1))).toMatchObject({ state: 'accepted', repeat: false });
    },
  );

  it('names the notifications of a batch that are kept nowhere, with the results of the others', async () => {
    let writes = 0;
    const full = faultyFs((_, name) => (name === 'file.writeFile' && ++writes === 2 ? errno('ENOSPC') : undefined));
    await world.api.stop();
    const client = world.client({ concurrency: 1 }, full);
    const failed = (await client.sendBatch(many(250)).catch((error: unknown) => error)) as NotHandedOverError;
    expect(failed.message).toContain('100 notifications could neither be handed over');
    expect(failed.message).toContain('the disk is full');
    expect(failed.notifications).toEqual(many(250).slice(100, 200));
    expect(failed.results.filter((result) => result?.state === 'spooled')).toHaveLength(150);
    expect(await world.items('spool')).toHaveLength(150);
  });

  it('leaves a file as it was if it is full during a flush, and the other files go out', async () => {
    await world.api.stop();
    await world.client().sendBatch(many(150));
    await world.api.start();
    world.api.insteadOfItem = ({ notification_id }) => (notification_id === 'N5' ? { status: 503 } : undefined);
    const full = faultyFs((_, name) => (name === 'file.writeFile' ? errno('ENOSPC') : undefined));
    const report = await world.client({}, full).flush();
    expect(report).toMatchObject({ accepted: 50, left: 100, skipped: [{ because: 'the disk is full' }] });
    world.api.insteadOfItem = () => undefined;
    expect(await world.client().flush()).toMatchObject({ accepted: 100, left: 0 });
    expect(world.api.accepted).toHaveLength(150);
  });
});

describe('a process that dies', () => {
  /** Repeats a run that dies at the first call of the file system, then at the second, …, until the run survives. */
  async function dyingAtEachCall(
    run: (fs: ReturnType<typeof faultyFs>) => Promise<void>,
    after: () => Promise<void>,
    border = false,
  ) {
    let survived = false;
    let deaths = 0;
    for (let at = 1; !survived; at++) {
      const fs = faultyFs((call) => (call === at ? new Died() : undefined), border);
      await run(fs).catch(() => {});
      survived = fs.calls() < at;
      if (!survived) deaths++;
      await after();
    }
    return deaths;
  }

  it('at any call while it spools: a spooled notification is complete, and nothing else is sent', async () => {
    const deaths = await dyingAtEachCall(
      async (fs) => {
        await world.api.stop();
        const result = await world
          .client({}, fs)
          .send(notification(1))
          .catch(() => undefined);
        if (result) expect(await kept()).toContain('N1');
      },
      async () => {
        await world.api.start();
        expect((await world.client().flush()).givenUp).toEqual([]);
        expect(world.files('spool')).toEqual([]);
      },
    );
    expect(deaths).toBeGreaterThan(6);
    expect(new Set(await world.api.delivered()).size).toBe(world.api.accepted.length);
  });

  it('at any call of a flush: each notification is accepted, in the spool or in data/failed, and the next flush ends it', async () => {
    let round = 0;
    const deaths = await dyingAtEachCall(
      async (fs) => {
        round++;
        const batch = many(6).map((one, i) => ({ ...one, notification_id: `R${round}-${i}` }));
        await world.api.stop();
        await world.client().sendBatch(batch);
        await world.api.start();
        world.api.insteadOfItem = ({ notification_id = '' }) => {
          if (notification_id.endsWith('-1')) return problem('invalid-request', 400);
          return notification_id.endsWith('-2') ? { status: 503 } : undefined;
        };
        await world.client({}, fs).flush();
      },
      async () => {
        const mine = (ids: readonly string[]) => new Set(ids.filter((id) => id.startsWith(`R${round}-`)));
        const everywhere = [...(await world.api.delivered()), ...(await kept())];
        expect(mine(everywhere).size).toBe(6);
        world.forgetLock();
        world.api.insteadOfItem = ({ notification_id = '' }) =>
          notification_id.endsWith('-1') ? problem('invalid-request', 400) : undefined;
        await world.client().flush();
        expect(world.files('spool')).toEqual([]);
        expect(mine(await world.api.delivered()).size).toBe(5);
        expect(mine(idsOf((await world.items('failed')).map(({ body }) => body)))).toEqual(new Set([`R${round}-1`]));
        expect(world.reported.splice(0)).toContainEqual(
          expect.objectContaining({ because: 'refused', notifications: 1 }),
        );
        expect(world.files('failed').filter(isUnreported)).toEqual([]);
      },
    );
    expect(deaths).toBeGreaterThan(20);
    expect(new Set(await world.api.delivered()).size).toBe(world.api.accepted.length);
    expect(new Set(await kept()).size).toBe((await kept()).length);
  });

  it.each([
    ['on one file system', false],
    ['over a border of file systems', true],
  ])(
    'at any call while files are given up, %s: each is in one place after the next flush, and was reported',
    async (_, border) => {
      let file = '';
      const deaths = await dyingAtEachCall(
        async (fs) => {
          await world.api.stop();
          await world.client().sendBatch(many(2));
          file = String(world.files('spool')[0]);
          await world.client({ maxSpoolRetries: 1 }, fs).flush();
        },
        async () => {
          world.forgetLock();
          await world.client({ maxSpoolRetries: 1 }).flush();
          expect([world.files('spool'), world.files('failed')]).toEqual([[], [file]]);
          expect(world.reported.splice(0)).toContainEqual(
            expect.objectContaining({ file, because: 'too-many-retries', notifications: 2 }),
          );
          await world.spool().remove('failed', file);
        },
        border,
      );
      expect(deaths).toBeGreaterThan(20);
    },
  );

  it.each([
    ['on one file system', false],
    ['over a border of file systems', true],
  ])(
    'at any call of a resend, %s: it is in one place, and goes out once, if needed by another resend',
    async (_, border) => {
      let file = '';
      let rounds = 0;
      const deaths = await dyingAtEachCall(
        async (fs) => {
          rounds++;
          await world.api.stop();
          await world.client().send(notification(rounds));
          file = String(world.files('spool')[0]);
          await world.client({ maxSpoolRetries: 1 }).flush();
          await world.api.start();
          await world.spool({}, fs).resend(file);
        },
        async () => {
          const places = [...world.files('spool'), ...world.files('failed')];
          expect(new Set(places)).toEqual(new Set([file]));
          if (!border) expect(places).toHaveLength(1);
          await world.client().flush();
          // Long after: the API has forgotten the keys, so a copy of a sent notification must not be left anywhere.
          world.api.forgetKeys();
          for (const failed of world.files('failed')) await world.spool().resend(failed);
          expect(await world.client().flush()).toMatchObject({ left: 0, givenUp: [] });
          expect([world.files('spool'), world.files('failed')]).toEqual([[], []]);
          expect(world.api.accepted).toHaveLength(rounds);
        },
        border,
      );
      expect(deaths).toBeGreaterThan(9);
    },
  );
});

describe('any answers of the API, and a process that dies anywhere', () => {
  const answer = fc.constantFrom('accept', 'accept', 'accept', 'refuse', 'busy', 'in-progress', 'lost', 'drop', 'key');
  const send = fc.record({
    do: fc.constant('send' as const),
    count: fc.integer({ min: 1, max: 4 }),
    dies: fc.integer({ min: 1, max: 40 }),
  });
  const flush = fc.record({
    do: fc.constant('flush' as const),
    count: fc.constant(0),
    dies: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.constant(Number.NaN)),
  });
  const resend = fc.record({
    do: fc.constant('resend' as const),
    count: fc.constant(0),
    dies: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constant(Number.NaN)),
  });
  const step = fc.oneof(
    { weight: 3, arbitrary: send },
    { weight: 4, arbitrary: flush },
    { weight: 2, arbitrary: resend },
  );

  // Few of the generated histories get this far.
  const never = Number.NaN;
  const givenUpTwice = [
    { do: 'send' as const, count: 2, dies: never },
    { do: 'flush' as const, count: 0, dies: never },
    { do: 'flush' as const, count: 0, dies: never },
    { do: 'resend' as const, count: 0, dies: never },
    { do: 'flush' as const, count: 0, dies: never },
    { do: 'resend' as const, count: 0, dies: 5 },
  ];

  it('accepts each notification once, or leaves it in the spool or in data/failed', async () => {
    const reached = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 16 }),
        fc.array(answer, { minLength: 1, maxLength: 25 }),
        async (steps, answers) => {
          await world.end();
          world = await startWorld();
          let next = 0;
          const draw = () => answers[next++ % answers.length] ?? 'accept';
          const promised = new Set<string>();
          const refused = new Set<string>();
          world.api.insteadOfItem = () => {
            const drawn = draw();
            if (drawn === 'refuse') return problem('invalid-request', 400);
            if (drawn === 'busy') return problem('unavailable', 503);
            return drawn === 'in-progress' ? problem('request-in-progress', 409) : undefined;
          };
          world.api.instead = () => {
            const drawn = draw();
            if (drawn === 'key') return problem('unauthenticated', 401);
            return drawn === 'drop' ? 'drop' : undefined;
          };
          world.api.losesAnswer = () => draw() === 'lost';
          for (const [n, { do: what, count, dies }] of steps.entries()) {
            const fs = faultyFs((call) => (call === dies ? new Died() : undefined));
            const client = world.client({ maxSpoolRetries: 1 + (n % 2) }, fs);
            if (what === 'send') {
              const batch = Array.from({ length: count }, (_, i) => notification(`${n}-${i}`));
              const results = await client.sendBatch(batch).catch((error: NotHandedOverError) => error.results);
              for (const [i, result] of results.entries()) {
                if (result?.state === 'refused') refused.add(`N${n}-${i}`);
                else if (result) promised.add(`N${n}-${i}`);
                reached.add(result?.state ?? 'died in send');
              }
            } else if (what === 'resend') {
              const spool = world.spool({}, fs);
              try {
                for (const file of world.files('failed')) {
                  await spool.resend(file);
                  reached.add('sent again');
                }
              } catch (error) {
                if (error instanceof Died) reached.add('died in resend');
                else throw error;
              }
            } else {
              const report = await client.flush().catch(() => 'died in flush' as const);
              if (report === 'died in flush') reached.add(report);
              else for (const { because } of report.givenUp) reached.add(because);
            }
            world.forgetLock();
            // The machine goes on; another process finds what the dead one left incomplete.
            const accepted = await world.api.delivered();
            expect(new Set(accepted).size).toBe(accepted.length);
            const somewhere = new Set([...accepted, ...(await kept())]);
            for (const id of promised) expect(somewhere).toContain(id);
          }
          world.api.instead = () => undefined;
          world.api.insteadOfItem = () => undefined;
          world.api.losesAnswer = () => false;
          await world.client().flush();
          expect(world.files('spool')).toEqual([]);
          const accepted = new Set(await world.api.delivered());
          const failed = await world.items('failed');
          // In both only if the API took it, its answer was lost, and the API then refused the repeat.
          for (const id of promised)
            expect(accepted.has(id) || idsOf(failed.map(({ body }) => body)).includes(id)).toBe(true);
          expect(failed.every(({ idempotency_key }) => idempotency_key.length > 0)).toBe(true);
          expect([...refused].filter((id) => promised.has(id))).toEqual([]);
        },
      ),
      { numRuns: Number(process.env['FULL'] ? 500 : 60), examples: [[givenUpTwice, ['busy']]] },
    );
    const outcomes = ['accepted', 'spooled', 'refused', 'too-many-retries', 'sent again'];
    for (const state of [...outcomes, 'died in flush', 'died in send', 'died in resend']) {
      expect(reached).toContain(state);
    }
  }, 120_000);
});
