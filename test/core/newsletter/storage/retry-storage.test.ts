import { describe, expect, it } from 'vitest';
import {
  DEFAULT_JOB_LIMITS,
  retryStorage,
  StopRetrying,
  StorageUnavailableError,
} from '../../../../src/core/newsletter/model/job-limits.ts';
import { VirtualTime } from '../../../../tools/simulation/engine/virtual-time.ts';

const MINUTE = 60_000;
const { storage_before_sending, storage_after_sending } = DEFAULT_JOB_LIMITS;

async function failFor(times: number, tries = storage_before_sending, left_ms = 60 * MINUTE) {
  const time = new VirtualTime(new Date('2026-03-01T10:00:00.000Z'));
  const begun = time.clock().getTime();
  const lines: string[] = [];
  const at: number[] = [];
  const deps = {
    clock: time.clock,
    pause: time.pause,
    log: {
      info: () => {},
      warn: (text: string) => void lines.push(text),
      error: (text: string) => void lines.push(`error: ${text}`),
    },
  };
  const run = async () => {
    at.push(time.clock().getTime() - begun);
    if (at.length <= times) throw new Error('down');
    return 'done';
  };
  const left = () => left_ms - (time.clock().getTime() - begun);
  const result = await time
    .run(retryStorage(run, { what: 'write a row', tries, left_ms: left }, deps))
    .catch((error: unknown) => error);
  return { result, at, lines };
}

describe('a storage call that fails', () => {
  it('is repeated after 2 s, doubling, with a log line each', async () => {
    const { result, at, lines } = await failFor(3);
    expect(result).toBe('done');
    expect(at).toEqual([0, 2_000, 6_000, 14_000]);
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(line).toMatch(/^\[BULK_EMAIL_DB_RETRY\] Could not write a row/);
  });

  it.each([
    ['before sending', storage_before_sending, [0, 2, 6, 14, 30, 62, 126, 254, 510, 600]],
    ['after sending', storage_after_sending, [0, 2, 6, 14, 30, 62, 126, 254, 510, 1_022, 1_800]],
  ])('is tried until the end of its time %s, and no later', async (_, tries, seconds) => {
    const { result, at, lines } = await failFor(Number.POSITIVE_INFINITY, tries);
    expect(result).toBeInstanceOf(StorageUnavailableError);
    expect(at).toEqual(seconds.map((second) => second * 1_000));
    expect(lines.at(-1)).toBe(`error: [BULK_EMAIL_DB_RETRY] Gave up: could not write a row in ${seconds.length} tries`);
  });

  it.each([
    ['before sending', storage_before_sending, 10, 10 * MINUTE],
    ['after sending', storage_after_sending, 20, 30 * MINUTE],
  ])('has the numbers of the source %s', async (_, tries, repetitions, within_ms) => {
    expect(tries).toMatchObject({ retries: repetitions, first_ms: 2_000, within_ms });
    const { at } = await failFor(Number.POSITIVE_INFINITY, { ...tries, within_ms: Number.POSITIVE_INFINITY }, 1e12);
    expect(at).toHaveLength(repetitions + 1);
  });

  it('is given up before the invocation ends', async () => {
    const { at } = await failFor(Number.POSITIVE_INFINITY, storage_after_sending, MINUTE);
    expect(at.at(-1)).toBeLessThan(MINUTE);
  });

  it('is not repeated for what is no failure of storage', async () => {
    const deps = {
      clock: () => new Date(),
      pause: async () => {},
      log: { info: () => {}, warn: () => {}, error: () => {} },
    };
    const lost = new Error('lost');
    const run = async () => {
      throw new StopRetrying(lost);
    };
    await expect(
      retryStorage(run, { what: 'x', tries: storage_before_sending, left_ms: () => 1e9 }, deps),
    ).rejects.toBe(lost);
  });
});
