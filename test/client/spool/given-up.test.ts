import { rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { problem } from '../../support/client/api-stand-in.ts';
import { notification, startWorld, type World } from '../../support/client/world.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.end());

const hours = (count: number) => {
  world.now = new Date(world.now.getTime() + count * 3_600_000);
};
const failedPath = () => join(world.directory, 'data', 'failed');
const idsOf = (items: readonly { readonly body: unknown }[]) =>
  items.map(({ body }) => (body as { notification_id: string }).notification_id).sort();

/** @returns the name of the file with these notifications */
async function spooled(count: number): Promise<string> {
  await world.api.stop();
  await world.client().sendBatch(Array.from({ length: count }, (_, n) => notification(n)));
  await world.api.start();
  return String(world.files('spool').at(-1));
}

/** The API refuses one notification, and is too busy for another. */
function answers(refused: string, busy?: string): void {
  world.api.insteadOfItem = ({ notification_id }) => {
    if (notification_id === refused) return problem('invalid-request', 400);
    return notification_id === busy ? problem('unavailable', 503) : undefined;
  };
}

const cannotTell = { onGivenUp: () => Promise.reject(new Error('the mail server is away')) };

describe('an accepted notification is not sent again', () => {
  it.each([
    ['the report fails', cannotTell, () => {}],
    ['data/failed cannot be written', {}, () => writeFileSync(failedPath(), '')],
  ])('while %s', async (_, options, spoil) => {
    await spooled(3);
    spoil();
    answers('N1');
    const client = world.client(options);
    expect(await client.flush()).toMatchObject({ accepted: 2, givenUp: [] });
    for (let flush = 2; flush <= 73; flush++) {
      hours(1);
      await client.flush();
    }
    // The API keeps a key for this time.
    world.api.forgetKeys();
    await client.flush();
    expect(await world.api.delivered()).toEqual(['N0', 'N2']);
  });

  it('after the tenth failed flush either, while data/failed cannot be written', async () => {
    const file = await spooled(2);
    writeFileSync(failedPath(), '');
    answers('', 'N1');
    const client = world.client({ maxSpoolRetries: 1 });
    const skipped = [{ file: failedPath() }, { file, because: expect.stringContaining('EEXIST') }];
    expect(await client.flush()).toMatchObject({ accepted: 1, left: 1, givenUp: [], skipped });
    world.api.forgetKeys();
    expect(await client.flush()).toMatchObject({ accepted: 0, left: 1, givenUp: [], skipped });
    expect(await world.api.delivered()).toEqual(['N0']);
  });
});

describe('operators get a report', () => {
  it.each([
    ['too-old', () => hours(200)],
    ['corrupt', (file: string) => truncateSync(join(world.directory, 'data', 'spool', file), 10)],
    ['refused', () => answers('N0')],
  ])('of what is %s once it is in data/failed, and not before', async (because, spoil) => {
    const file = await spooled(1);
    spoil(file);
    writeFileSync(failedPath(), '');
    for (let flush = 1; flush <= 3; flush++) {
      const report = await world.client().flush();
      expect(report.givenUp).toEqual([]);
      expect(report.skipped.map(({ file: name }) => name)).toEqual([failedPath(), file]);
    }
    expect(world.reported).toEqual([]);
    rmSync(failedPath());
    expect(await world.client().flush()).toMatchObject({ left: 0, skipped: [], givenUp: [{ file, because }] });
    await world.client().flush();
    expect(world.reported).toMatchObject([{ file, because }]);
    expect([world.files('spool'), world.files('failed').length]).toEqual([[], 1]);
  });

  it.each([
    ['too-old', () => hours(200), { notifications: 1, reason: 'no answer (ECONNREFUSED)' }],
    [
      'corrupt',
      (file: string) => truncateSync(join(world.directory, 'data', 'spool', file), 10),
      { reason: 'it does not begin as a spool file' },
    ],
    ['refused', () => answers('N0'), { notifications: 1, reason: 'invalid-request' }],
  ])('of what is %s again at each flush, until they hear it', async (because, spoil, more) => {
    const file = await spooled(1);
    spoil(file);
    for (let flush = 1; flush <= 2; flush++) {
      const report = await world.client(cannotTell).flush();
      const [untold] = world.files('failed');
      expect(untold).toMatch(new RegExp(`^untold-${file.replace('.spool', '')}`));
      expect(report).toMatchObject({ left: 0, givenUp: [] });
      expect(report.skipped).toEqual([{ file: untold, because: 'Error: the mail server is away' }]);
    }
    expect(await world.client().flush()).toMatchObject({ skipped: [], givenUp: [{ file, because, ...more }] });
    expect(await world.client().flush()).toMatchObject({ givenUp: [] });
    expect(world.reported).toHaveLength(1);
    expect(world.files('failed')[0]).toMatch(new RegExp(`^${file.replace('.spool', '')}`));
  });

  it('and may remove the file before the next line runs', async () => {
    await spooled(1);
    answers('N0');
    const onGivenUp = () => rmSync(failedPath(), { recursive: true });
    expect(await world.client({ onGivenUp }).flush()).toMatchObject({ skipped: [], givenUp: [{ because: 'refused' }] });
  });

  it('but not of an unreported file that they have put back', async () => {
    const file = await spooled(1);
    hours(200);
    await world.client(cannotTell).flush();
    expect(await world.spool().resend(`untold-${file}`)).toBe(file);
    expect(await world.client().flush()).toMatchObject({ accepted: 1, givenUp: [] });
    expect(world.reported).toEqual([]);
  });
});

describe('a refused notification', () => {
  it('keeps a file name of the same length, however often it is sent again', async () => {
    const file = await spooled(1);
    answers('N0');
    for (let round = 1; round <= 12; round++) {
      await world.client().flush();
      const [refused = ''] = world.files('failed');
      expect(refused).toMatch(new RegExp(`^${file.replace('.spool', '')}-refused-[0-9a-f]{12}\\.spool$`));
      await world.spool().resend(refused);
    }
  });

  it('is kept twice if it is refused in two flushes, of one file and with one key', async () => {
    await world.api.stop();
    await world.client().sendBatch([0, 1].map((n) => ({ ...notification(n), idempotency_key: 'K1' })));
    await world.api.start();
    answers('N0', 'N1');
    await world.client().flush();
    answers('N1');
    await world.client().flush();
    expect(idsOf(await world.items('failed'))).toEqual(['N0', 'N1']);
  });

  it('is reported only by the name of the problem', async () => {
    await spooled(2);
    world.api.insteadOfItem = () => ({ status: 400, body: { type: 'someone-0@example.com is not liked' } });
    await world.client().flush();
    const [entry] = await world.spool().list('failed');
    expect([world.reported[0]?.reason, entry?.header?.lastError.reason]).toEqual(['status 400', 'status 400']);
  });
});
