import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { HandoverOutcome } from '../../../src/client/handover/retry-rules.ts';
import { flushSpool } from '../../../src/client/spool/flush.ts';
import { notification, startWorld, type World } from '../../support/client/world.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.end());

/** Spools these, each an hour later than the one before. @returns the names of the files, the oldest first */
async function spooled(...counts: number[]): Promise<string[]> {
  await world.api.stop();
  let from = 0;
  for (const count of counts) {
    await world.client().sendBatch(Array.from({ length: count }, (_, n) => notification(from + n)));
    from += count;
    world.now = new Date(world.now.getTime() + 3_600_000);
  }
  await world.api.start();
  return (await world.spool().list('spool')).map(({ file }) => file);
}

it('a flush of some files leaves the others alone, and counts only its own', async () => {
  const [first = '', second = '', third = ''] = await spooled(1, 2, 3);
  const progress: unknown[] = [];
  const onProgress = (seen: unknown) => void progress.push(seen);
  expect(await world.client().flush({ files: [second], onProgress })).toMatchObject({ accepted: 2, left: 0 });
  expect(world.files('spool')).toEqual([first, third].sort());
  expect(progress).toEqual([{ done: 2, total: 2 }]);
  expect(await world.client().flush({ files: [] })).toMatchObject({ accepted: 0, left: 0 });
  expect(world.files('spool')).toEqual([first, third].sort());
  progress.length = 0;
  await world.client().flush({ onProgress });
  expect(progress).toEqual([
    { done: 1, total: 4 },
    { done: 4, total: 4 },
  ]);
});

it.each(['too-old', 'too-many-retries'] as const)(
  'what a process gave up as %s before it died is moved and reported by the next flush, and not sent',
  async (because) => {
    const [file = ''] = await spooled(2);
    const spool = world.spool();
    const { header, payload } = await spool.read('spool', file);
    await spool.write('spool', file, {
      header: { ...header, givenUp: { at: world.now.toISOString(), because } },
      payload,
    });
    const at = world.now.toISOString();
    world.now = new Date(world.now.getTime() + 3_600_000);
    expect(await world.client().flush()).toMatchObject({ accepted: 0, left: 0, givenUp: [{ file, because }] });
    expect((await world.spool().head('failed', file)).header?.givenUp).toEqual({ at, because });
    expect(world.api.asked).toEqual([]);
    expect([world.files('spool'), world.files('failed')]).toEqual([[], [file]]);
  },
);

/** Flushes with these answers of the API, one per notification. */
function flushWith(answers: readonly HandoverOutcome[], signal?: AbortSignal) {
  return flushSpool(
    {
      spool: world.spool(),
      post: async () => [...answers],
      attempts: 1,
      longestWaitMs: 1,
      random: () => 0,
      clock: () => world.now,
      pause: async () => {},
      maxRetries: 10,
      retentionMs: 86_400_000,
      onGivenUp: () => {},
      onLargeSpool: () => {},
    },
    signal ? { signal } : {},
  );
}
const ACCEPTED = { state: 'accepted', log_id: 'NL-1', repeat: false } as const;

it('of a batch that was attempted in part, what was accepted leaves the file', async () => {
  const [file = ''] = await spooled(3);
  expect(await flushWith([ACCEPTED])).toMatchObject({ accepted: 1, left: 2, givenUp: [], skipped: [] });
  expect((await world.spool().head('spool', file)).header).toMatchObject({ notifications: 2, retryCount: 1 });
  expect((await world.items('spool')).map(({ body }) => body)).toMatchObject([
    { notification_id: 'N1' },
    { notification_id: 'N2' },
  ]);
});

it('says of what is left why it is, also when other notifications of the file were accepted first', async () => {
  const [file = ''] = await spooled(2);
  const busy = { state: 'postponed', retryable: false, splittable: false, reason: 'status 503', status: 503 } as const;
  expect(await flushWith([ACCEPTED, busy])).toMatchObject({ accepted: 1, left: 1, skipped: [] });
  expect((await world.spool().head('spool', file)).header?.lastError).toEqual({
    at: world.now.toISOString(),
    reason: 'status 503',
  });
});

it('a file that is handed over in its last flush is not given up', async () => {
  const [file = ''] = await spooled(1);
  const spool = world.spool();
  const { header, payload } = await spool.read('spool', file);
  await spool.write('spool', file, { header: { ...header, retryCount: 9 }, payload });
  expect(await flushWith([ACCEPTED])).toMatchObject({ accepted: 1, left: 0, givenUp: [], skipped: [] });
  expect([world.files('spool'), world.files('failed')]).toEqual([[], []]);
});

it('names the problems of what was refused, each once, and of unknown ones only the status', async () => {
  await spooled(6);
  const refused = (type: string | undefined, status: number) => {
    return { state: 'refused', problem: { ...(type && { type }), status, title: 'x' } } as unknown as HandoverOutcome;
  };
  const known = 'urn:notification-retry:problem:invalid-request';
  const problems: [string | undefined, number][] = [
    [known, 400],
    [known, 400],
    [`x${known}`, 401],
    [`${known}#more`, 402],
    [undefined, 403],
    ['urn:notification-retry:problem:too-large', 413],
  ];
  const report = await flushWith(problems.map(([type, status]) => refused(type, status)));
  expect(report).toMatchObject({ refused: 6, left: 0, skipped: [] });
  expect(report.givenUp.map(({ reason }) => reason)).toEqual([
    'invalid-request, status 401, status 402, status 403, too-large',
  ]);
});

it('a file of which the first line alone is whole is set aside, and its notifications are not left', async () => {
  const [file = ''] = await spooled(2);
  const path = join(world.directory, 'data', 'spool', file);
  writeFileSync(path, readFileSync(path, 'utf8').replace('Text 1', 'Text 2'));
  expect(await flushWith([])).toMatchObject({ left: 0, givenUp: [{ file, because: 'corrupt' }], skipped: [] });
});
