import { mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import * as realFs from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SpoolSize } from '../../../src/client/spool/flush.ts';
import { problem } from '../../support/client/api-stand-in.ts';
import { notification, startWorld, type World } from '../../support/client/world.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.end());

const many = (count: number, from = 0) => Array.from({ length: count }, (_, i) => notification(from + i));
const later = (hours: number) => {
  world.now = new Date(world.now.getTime() + hours * 3_600_000);
};
const spoolPath = (file = '') => join(world.directory, 'data', 'spool', file);
const keyA = Buffer.alloc(32, 1).toString('base64');
const keyB = Buffer.alloc(32, 2).toString('hex');

/** Spools these while the API does not answer. */
async function spooled(count: number, from = 0, options = {}): Promise<string> {
  await world.api.stop();
  await world.client(options).sendBatch(many(count, from));
  await world.api.start();
  return String(world.files('spool').at(-1));
}

describe('sendBatch', () => {
  it('hands over any number, 100 per request, and reports progress', async () => {
    const seen: number[] = [];
    const results = await world.client().sendBatch(many(250), { onProgress: ({ done }) => seen.push(done) });
    expect(results).toHaveLength(250);
    expect(new Set(results.map((result) => result.state))).toEqual(new Set(['accepted']));
    expect(world.api.asked).toHaveLength(3);
    expect(seen.at(-1)).toBe(250);
  });

  it('spools a batch as one file per 100, and makes fewer attempts while the API does not answer', async () => {
    await world.api.stop();
    const results = await world.client({ concurrency: 1 }).sendBatch(many(250));
    expect(results.every(({ state }) => state === 'spooled')).toBe(true);
    expect(world.files('spool')).toHaveLength(3);
    expect(world.waited).toHaveLength(2);
  });

  it('retries only the items that may succeed, and refuses those that never will', async () => {
    world.api.insteadOfItem = ({ notification_id }) => {
      if (notification_id === 'N1') return problem('invalid-request', 400);
      if (notification_id === 'N2') return problem('unavailable', 503);
      return notification_id === 'N3' && world.api.asked.length < 3 ? problem('rate-limited', 429) : undefined;
    };
    const results = await world.client().sendBatch(many(5));
    expect(results.map(({ state }) => state)).toEqual(['accepted', 'refused', 'spooled', 'accepted', 'accepted']);
    const sizes = world.api.asked.map(({ body }) => (body['notifications'] as unknown[] | undefined)?.length ?? 1);
    expect(sizes).toEqual([5, 2, 2]);
    expect(
      (await world.items('spool')).map(({ body }) => (body as { notification_id: string }).notification_id),
    ).toEqual(['N2']);
  });

  it('finds the items for which a whole batch is refused', async () => {
    world.api.instead = ({ body }) => {
      const items = (body['notifications'] ?? [body]) as { notification_id: string }[];
      return items.some(({ notification_id }) => notification_id === 'N7') ? { status: 413 } : undefined;
    };
    const results = await world.client().sendBatch(many(20));
    expect(results.flatMap(({ state }, i) => (state === 'accepted' ? [] : [i]))).toEqual([7]);
    expect(results[7]).toMatchObject({ state: 'refused', problem: { status: 413 } });
  });

  it('sends an item once that is in the batch twice', async () => {
    const results = await world.client().sendBatch([notification(1), notification(1)]);
    expect(results).toMatchObject([{ repeat: false }, { repeat: true }]);
    expect(world.api.accepted).toHaveLength(1);
  });

  it('keeps requests below what a Lambda function takes', async () => {
    const large = many(20).map((one) => ({ ...one, body: 'x'.repeat(500_000) }));
    await world.client().sendBatch(large);
    const sizes = world.api.asked.map(({ body }) => JSON.stringify(body).length);
    expect(Math.max(...sizes)).toBeLessThan(6_000_000);
    expect(world.api.accepted).toHaveLength(20);
  });

  it('keeps the rest on disk if its signal aborts', async () => {
    const stop = new AbortController();
    const results = await world.client({ concurrency: 1 }).sendBatch(many(300), {
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    expect(results.filter(({ state }) => state === 'accepted')).toHaveLength(100);
    expect(results.filter(({ state }) => state === 'spooled')).toHaveLength(200);
    expect(await world.items('spool')).toHaveLength(200);
  });
});

it.each([
  [
    'throws',
    () => {
      throw new Error('the caller is wrong');
    },
  ],
  ['rejects', () => Promise.reject(new Error('the caller is wrong'))],
])(
  'an onProgress that fails %s: everything is handed over all the same, and it is warned of once',
  async (_, onProgress) => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    try {
      const results = await world.client().sendBatch(many(250), { onProgress });
      expect(results.filter(({ state }) => state === 'accepted')).toHaveLength(250);
      await spooled(1, 250);
      await spooled(1, 251);
      expect(await world.client().flush({ onProgress })).toMatchObject({ accepted: 2, left: 0 });
      expect(warn.mock.calls).toEqual([[expect.stringContaining('the caller is wrong')], [expect.anything()]]);
    } finally {
      warn.mockRestore();
    }
  },
);

describe('flush', () => {
  it('sends the file with the oldest first attempt first, not by file name', async () => {
    await spooled(1, 5);
    later(-3);
    await spooled(1, 2);
    later(-5);
    await spooled(1, 1);
    expect(await world.client().flush()).toMatchObject({ accepted: 3, left: 0, givenUp: [], skipped: [] });
    expect(await world.api.delivered()).toEqual(['N1', 'N2', 'N5']);
    expect(world.files('spool')).toEqual([]);
  });

  it('has nothing to do if the directory does not exist', async () => {
    expect(await world.client().flush()).toEqual({
      accepted: 0,
      refused: 0,
      left: 0,
      givenUp: [],
      skipped: [],
      interrupted: false,
      leftBecause: {},
    });
  });

  it('says why notifications are left, by reason, also where the try does not count', async () => {
    await spooled(5);
    world.api.instead = () => problem('unauthenticated', 401);
    expect(await world.client().flush()).toMatchObject({ left: 5, leftBecause: { unauthenticated: 5 } });
    world.api.instead = () => ({ status: 503, headers: { 'retry-after': '3600' } });
    await world.client().sendBatch([notification(90), notification(91)]);
    expect(await world.client().flush()).toMatchObject({ left: 7, leftBecause: { 'status 503': 7 } });
  });

  it('leaves the items that failed in the file, and sends only these the next time', async () => {
    const file = await spooled(5);
    world.api.insteadOfItem = ({ notification_id }) => (notification_id === 'N3' ? { status: 503 } : undefined);
    expect(await world.client().flush()).toMatchObject({ accepted: 4, left: 1 });
    expect(world.files('spool')).toEqual([file]);
    expect((await world.spool().head('spool', file)).header).toMatchObject({ retryCount: 1, notifications: 1 });
    world.api.insteadOfItem = () => undefined;
    const before = world.api.asked.length;
    expect(await world.client().flush()).toMatchObject({ accepted: 1, left: 0 });
    expect(world.api.asked.length).toBe(before + 1);
    expect(world.api.accepted).toHaveLength(5);
  });

  it('gets the stored answer of a request that was in progress', async () => {
    world.api.instead = () => problem('request-in-progress', 409);
    const client = world.client();
    await client.send(notification(1));
    world.api.instead = () => undefined;
    expect(await client.flush()).toMatchObject({ accepted: 1 });
  });

  it('moves refused items to data/failed with the problem, and reports them once', async () => {
    const file = await spooled(3);
    world.api.insteadOfItem = ({ notification_id }) =>
      notification_id === 'N1' ? problem('invalid-request', 400) : undefined;
    const client = world.client();
    expect(await client.flush()).toMatchObject({ accepted: 2, refused: 1, left: 0 });
    await client.flush();
    expect(await world.items('failed')).toMatchObject([
      { body: notification(1), problem: { type: 'urn:notification-retry:problem:invalid-request' } },
    ]);
    expect(world.reported).toMatchObject([{ file, because: 'refused', notifications: 1, reason: 'invalid-request' }]);
  });

  it('gives a file up after ten failed flushes, moves it and reports it once', async () => {
    const file = await spooled(2);
    await world.api.stop();
    const client = world.client();
    for (let flush = 1; flush <= 9; flush++) {
      later(1);
      expect(await client.flush()).toMatchObject({ left: 2, givenUp: [] });
    }
    later(1);
    expect(await client.flush()).toMatchObject({
      left: 0,
      givenUp: [{ file, because: 'too-many-retries', notifications: 2, reason: 'no answer (ECONNREFUSED)' }],
    });
    expect(world.files('spool')).toEqual([]);
    expect(world.files('failed')).toEqual([file]);
    await client.flush();
    expect(world.reported).toHaveLength(1);
  });

  it.each([
    [{ maxSpoolRetries: 1 }, 1, 'too-many-retries'],
    [{ spoolRetentionHours: 5 }, 6, 'too-old'],
    [{}, 169, 'too-old'],
  ] as const)('with %o it gives up after %i hours: %s', async (options, hours, because) => {
    const file = await spooled(1);
    await world.api.stop();
    later(hours);
    await world.client(options).flush();
    expect(world.reported).toMatchObject([{ file, because }]);
    expect((await world.spool().head('failed', file)).header?.givenUp).toMatchObject({ because });
  });

  it('keeps a file for 168 hours', async () => {
    await spooled(1);
    later(168);
    expect(await world.client().flush()).toMatchObject({ accepted: 1, givenUp: [] });
  });

  it('loses nothing if the clock is set back', async () => {
    await spooled(1);
    later(-24 * 365);
    await world.api.stop();
    expect(await world.client().flush()).toMatchObject({ left: 1, givenUp: [] });
    await world.api.start();
    expect(await world.client().flush()).toMatchObject({ accepted: 1 });
  });

  it('counts no failure if it is aborted', async () => {
    const stop = new AbortController();
    await spooled(1);
    await spooled(1, 1);
    world.api.instead = () => {
      stop.abort();
      return { status: 503 };
    };
    expect(await world.client().flush({ signal: stop.signal })).toMatchObject({ left: 2, interrupted: true });
    expect((await world.spool().list('spool')).map(({ header }) => header?.retryCount)).toEqual([0, 0]);
  });
});

it.each([
  ['within a minute', 3 / 3_600],
  ['an hour apart', 1],
  ['half a day apart', 12],
])('each failed flush counts, and the tenth gives the file up: %s', async (_, hours) => {
  const file = await spooled(1);
  world.api.instead = () => ({ status: 503 });
  for (let failed = 1; failed < 10; failed++) {
    expect(await world.client().flush()).toMatchObject({ left: 1, givenUp: [] });
    expect((await world.spool().head('spool', file)).header).toMatchObject({
      retryCount: failed,
      lastError: { at: world.now.toISOString() },
    });
    later(hours);
  }
  expect(await world.client().flush()).toMatchObject({ left: 0, givenUp: [{ file, because: 'too-many-retries' }] });
  expect([world.files('spool'), world.files('failed')]).toEqual([[], [file]]);
});

describe('a spool that is larger than the ADR expects', () => {
  const warned = async (fs: Partial<typeof realFs> = {}) => {
    const sizes: SpoolSize[] = [];
    world.api.instead = () => ({ status: 503 });
    const onLargeSpool = (size: SpoolSize) => void sizes.push(size);
    await world.client({ onLargeSpool }, { ...realFs, ...fs }).flush();
    return sizes;
  };

  it('is warned of once per flush: more than 70 files', async () => {
    await world.api.stop();
    for (let n = 0; n < 70; n++) await world.client().send(notification(n));
    await world.api.start();
    expect(await warned()).toEqual([]);
    await spooled(1, 70);
    expect(await warned()).toEqual([{ files: 71, bytes: expect.any(Number) }]);
  });

  it('is warned of by its size: more than 700 MB', async () => {
    await spooled(1);
    const stat = (async (path: string) => {
      const found = await realFs.stat(path);
      return path.endsWith('.spool') ? Object.assign(found, { size: 700_000_001 }) : found;
    }) as typeof realFs.stat;
    expect(await warned({ stat })).toEqual([{ files: 1, bytes: 700_000_001 }]);
    expect(await warned()).toEqual([]);
  });

  it('is no matter once it is empty', async () => {
    await spooled(1);
    const sizes: unknown[] = [];
    await world.client({ onLargeSpool: (size) => void sizes.push(size) }).flush();
    expect([sizes, world.files('spool')]).toEqual([[], []]);
  });
});

describe('what one file shows about the API', () => {
  const retryCounts = async () => (await world.spool().list('spool')).map(({ header }) => header?.retryCount);

  it('a long Retry-After ends the requests, and a file that was not attempted counts no failure', async () => {
    for (let n = 0; n < 3; n++) await spooled(60, 60 * n);
    world.api.instead = () => ({ status: 429, headers: { 'retry-after': '120' } });
    expect(await world.client().flush()).toMatchObject({ accepted: 0, left: 180 });
    expect(world.api.asked).toHaveLength(1);
    expect(await retryCounts()).toEqual([1, 0, 0]);
    const [, unasked] = await world.spool().list('spool');
    expect(unasked?.header?.lastError.reason).toBe('no answer (ECONNREFUSED)');
  });

  it('also for the batches of a mailing: the rest is spooled without an attempt', async () => {
    world.api.instead = () => ({ status: 503, headers: { 'retry-after': '120' } });
    const results = await world.client({ concurrency: 1 }).sendBatch(many(250));
    expect(world.api.asked).toHaveLength(1);
    expect(results[0]).toMatchObject({ state: 'spooled', reason: 'status 503' });
    expect(results[249]).toMatchObject({ state: 'spooled', reason: 'the API said to wait (Retry-After)' });
  });

  it('sends again after the Retry-After', async () => {
    for (let n = 0; n < 2; n++) await spooled(60, 60 * n);
    world.api.instead = () =>
      world.api.asked.length === 1 ? { status: 429, headers: { 'retry-after': '31' } } : undefined;
    const onProgress = () => later(31 / 3_600);
    expect(await world.client().flush({ onProgress })).toMatchObject({ accepted: 60, left: 60 });
  });

  it('an API that only answers 5xx gets one request per further file, until it answers otherwise', async () => {
    for (let n = 0; n < 5; n++) {
      await spooled(60, 60 * n);
      later(0.1);
    }
    world.waited.length = 0;
    world.api.instead = () => ({ status: 503 });
    expect(await world.client().flush()).toMatchObject({ left: 300 });
    // Three attempts, nine smaller ones, and one for each further file.
    expect(world.api.asked).toHaveLength(3 + 9 + 4);
    expect(world.waited).toEqual([1_000, 2_000]);
    expect(await retryCounts()).toEqual([1, 1, 1, 1, 1]);
    world.api.asked.length = 0;
    // All of the second and of the fourth file.
    world.api.instead = ({ body }) => {
      const [first] = (body['notifications'] ?? [body]) as { notification_id: string }[];
      const file = Math.floor(Number(first?.notification_id.slice(1)) / 60);
      return file % 2 === 1 ? { status: 503 } : undefined;
    };
    expect(await world.client().flush()).toMatchObject({ accepted: 180, left: 120 });
    expect(world.api.asked).toHaveLength(1 + 12 + 1 + 12 + 1);
  });
});

describe('a batch that fails as a whole', () => {
  const sizes = () => world.api.asked.map(({ body }) => (body['notifications'] as unknown[] | undefined)?.length ?? 1);
  const kept = async () =>
    (await world.items('spool')).map(({ body }) => (body as { notification_id: string }).notification_id);
  /** Makes the API fail on each request that contains one of these. */
  const failFor = (...ids: string[]) => {
    world.api.instead = ({ body }) => {
      const items = (body['notifications'] ?? [body]) as { notification_id: string }[];
      return items.some(({ notification_id }) => ids.includes(notification_id)) ? { status: 503 } : undefined;
    };
  };

  it.each([[['N0']], [['N37']], [['N99']], [['N0', 'N1']], [['N0', 'N49', 'N50', 'N99']]])(
    'only for %j: the flush hands the others over and keeps these',
    async (ids) => {
      await spooled(100);
      failFor(...ids);
      expect(await world.client().flush()).toMatchObject({ accepted: 100 - ids.length, left: ids.length });
      expect(await kept()).toEqual(ids);
      expect(sizes().slice(0, 3)).toEqual([100, 100, 100]);
      world.api.instead = () => undefined;
      expect(await world.client().flush()).toMatchObject({ accepted: ids.length, left: 0 });
      expect(world.api.accepted).toHaveLength(100);
    },
  );

  it('is split also after a file that always fails', async () => {
    await spooled(1, 900);
    later(0.1);
    await spooled(100);
    failFor('N900', 'N37');
    expect(await world.client().flush()).toMatchObject({ accepted: 99, left: 2 });
    expect(await kept()).toEqual(['N900', 'N37']);
  });

  it('because the API always fails, costs ten small requests once', async () => {
    for (let n = 0; n < 3; n++) await spooled(100, 100 * n);
    world.api.instead = () => ({ status: 503 });
    expect(await world.client().flush()).toMatchObject({ accepted: 0, left: 300 });
    expect(sizes()).toEqual([100, 100, 100, 50, 25, 13, 7, 4, 2, 1, 1, 2, 100, 100]);
    expect((await world.spool().list('spool')).map(({ header }) => header?.retryCount)).toEqual([1, 1, 1]);
  });

  it('because it takes too long, is sent in smaller batches', async () => {
    await spooled(100);
    world.api.instead = ({ body }) => ((body['notifications'] as unknown[]).length > 30 ? 'stall' : undefined);
    expect(await world.client({ timeoutMs: 250 }).flush()).toMatchObject({ accepted: 100, left: 0 });
    expect(sizes()).toEqual([100, 100, 100, 50, 25, 25, 50, 25, 25]);
  });

  it('during a mailing is left to the flush', async () => {
    failFor('N7');
    await world.client().sendBatch(many(20));
    expect(sizes()).toEqual([20, 20, 20]);
    expect(await kept()).toHaveLength(20);
  });
});

describe('a file that is not a complete spool file', () => {
  it.each([
    ['cut off', (path: string) => truncateSync(path, statSync(path).size - 10)],
    ['cut off in its first line', (path: string) => truncateSync(path, 20)],
    ['empty', (path: string) => truncateSync(path, 0)],
    ['changed', (path: string) => writeFileSync(path, readFileSync(path, 'utf8').replace('Text 0', 'Text X'))],
    ['something else', (path: string) => writeFileSync(path, Buffer.from([0xff, 0xfe, 0, 10, 7]))],
    ['JSON of somebody else', (path: string) => writeFileSync(path, '{"version":1}\n[]\n')],
  ])('%s: it is set aside and reported, never sent, and the others go out', async (_, spoil) => {
    const file = await spooled(1, 0);
    spoil(spoolPath(file));
    await spooled(1, 1);
    const report = await world.client().flush();
    expect(report).toMatchObject({ accepted: 1, givenUp: [{ file, because: 'corrupt' }] });
    expect(await world.api.delivered()).toEqual(['N1']);
    expect(world.files('spool')).toEqual([]);
    expect(world.files('failed')).toEqual([expect.stringMatching(new RegExp(`^${file}\\.\\w+\\.corrupt$`))]);
  });

  it('with a foreign name is left alone and named', async () => {
    const file = await spooled(1);
    writeFileSync(spoolPath('app.db'), 'not ours');
    writeFileSync(spoolPath(`${file}.bak`), readFileSync(spoolPath(file)));
    const because = 'its name does not end in .spool, so it is not a file of the spool';
    expect(await world.client().flush()).toMatchObject({
      accepted: 1,
      givenUp: [],
      skipped: expect.arrayContaining([
        { file: 'app.db', because },
        { file: `${file}.bak`, because },
      ]),
    });
    expect(world.files('spool')).toEqual([`${file}.bak`, 'app.db']);
    expect(world.files('failed')).toEqual([]);
  });

  it('of a newer version is left alone', async () => {
    mkdirSync(spoolPath(), { recursive: true });
    writeFileSync(spoolPath('new.spool'), '{"version":3}\n');
    const report = await world.client().flush();
    expect(report.skipped).toEqual([{ file: 'new.spool', because: 'it has version 3: a newer client wrote it' }]);
    expect(world.files('spool')).toEqual(['new.spool']);
  });
});

describe('encryption at rest', () => {
  it('shows neither recipient nor content on disk, and sends what it kept', async () => {
    const file = await spooled(1, 0, { spoolKey: keyA });
    expect(readFileSync(spoolPath(file), 'utf8')).not.toMatch(/someone|example\.com|Text 0/);
    expect(await world.client({ spoolKey: keyA }).flush()).toMatchObject({ accepted: 1 });
    expect(world.api.accepted).toEqual([notification(0)]);
  });

  it('reads with an earlier key, and writes with the first', async () => {
    const file = await spooled(2, 0, { spoolKey: keyA });
    world.api.insteadOfItem = ({ notification_id }) => (notification_id === 'N1' ? { status: 503 } : undefined);
    await world.client({ spoolKey: [keyB, keyA] }).flush();
    expect(readFileSync(spoolPath(file), 'utf8')).not.toContain('Text 1');
    world.api.insteadOfItem = () => undefined;
    expect(await world.client({ spoolKey: keyB }).flush()).toMatchObject({ accepted: 1 });
  });

  it.each([
    ['another key', { spoolKey: keyB }],
    ['no key', {}],
  ])('with %s a file is left as it is, and named', async (_, options) => {
    const file = await spooled(1, 0, { spoolKey: keyA });
    const before = readFileSync(spoolPath(file), 'utf8');
    expect(await world.client(options).flush()).toMatchObject({
      accepted: 0,
      left: 1,
      skipped: [{ file, because: /encrypted with the key \w{8}, which is not/ }],
    });
    expect(readFileSync(spoolPath(file), 'utf8')).toBe(before);
    later(169);
    await world.client(options).flush();
    expect(world.files('failed')).toEqual([file]);
  });

  it('detects a file that was changed on disk with a matching checksum', async () => {
    const file = await spooled(1, 0, { spoolKey: keyA });
    const spool = world.spool({ spoolKey: keyA });
    const content = await spool.read('spool', file);
    const forged = { ...content, payload: `AAAA${content.payload.slice(4)}` };
    expect(() => spool.open(forged)).toThrow('its items do not decrypt, or its first line was changed');
  });
});

it('resend puts a given-up file back with a new budget and the same keys', async () => {
  const file = await spooled(2);
  await world.api.stop();
  later(200);
  await world.client().flush();
  await world.api.start();
  await world.spool().resend(file);
  expect((await world.spool().head('spool', file)).header).toMatchObject({
    retryCount: 0,
    firstAttempt: world.now.toISOString(),
  });
  expect(await world.client().flush({ files: [file] })).toMatchObject({ accepted: 2 });
  expect(world.files('failed')).toEqual([]);
});
