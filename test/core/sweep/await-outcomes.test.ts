import { describe, expect, it } from 'vitest';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import {
  type AwaitOutcomesDeps,
  awaitOutcomes,
  OutcomesUnreadableError,
} from '../../../src/core/sweep/await-outcomes.ts';
import { dueRow, iso, messageFor } from '../../support/rows.ts';

const MINUTE = 60_000;
const PATIENCE_MS = 7 * MINUTE;

const due = (log_id: string) => dueRow({ log_id });
const delivered = (log_id: string): NotificationRow => {
  const { work_queue: _, ...row } = due(log_id);
  return { ...row, send_status: 'SUCCESS' };
};
const messages = ['a', 'b'].map((log_id) => messageFor(due(log_id)));

/** Waits on its own clock, which only pauses move. */
function waiting(
  read: (log_id: string, ms: number) => NotificationRow | undefined,
  more: Partial<AwaitOutcomesDeps> = {},
) {
  const clock = { ms: 0, reads: 0 };
  const outcomes = awaitOutcomes(messages, {
    read: async (log_id) => {
      clock.reads += 1;
      return read(log_id, clock.ms);
    },
    pause: async (ms) => {
      clock.ms += ms;
    },
    now: () => clock.ms,
    patience_ms: PATIENCE_MS,
    ...more,
  });
  return { clock, outcomes };
}

const throttled = () => {
  throw Object.assign(new Error('slow down'), { name: 'ThrottlingException' });
};

describe('waiting for outcomes', () => {
  it.each<[string, NotificationRow | undefined, Record<string, number>]>([
    ['delivered', delivered('a'), { SUCCESS: 2 }],
    ['to be retried later', dueRow({ send_status: 'RETRY', work_at: iso(MINUTE) }), { RETRY: 2 }],
    ['given up', dueRow({ send_status: 'FAILED', work_at: iso(MINUTE) }), { FAILED: 2 }],
    ['deleted', undefined, { DELETED: 2 }],
  ])('ends with notifications that are %s', async (_, row, expected) => {
    const { outcomes, clock } = waiting(() => row);
    expect(await outcomes).toEqual(expected);
    expect(clock.ms).toBe(0);
  });

  it('continues while an attempt is due or under way', async () => {
    const row = (log_id: string, ms: number) => {
      if (ms < MINUTE) return due(log_id);
      return ms < 2 * MINUTE ? dueRow({ log_id, send_status: 'SENDING' }) : delivered(log_id);
    };
    const { outcomes, clock } = waiting(row);
    expect(await outcomes).toEqual({ SUCCESS: 2 });
    expect(clock.ms).toBeGreaterThanOrEqual(2 * MINUTE);
  });

  it('ends when no new outcome comes for patience_ms, and says how many are open', async () => {
    const { outcomes, clock } = waiting((log_id, ms) =>
      log_id === 'a' && ms > 5 * MINUTE ? delivered(log_id) : due(log_id),
    );
    expect(await outcomes).toEqual({ SUCCESS: 1, UNSETTLED: 1 });
    expect(clock.ms).toBeGreaterThanOrEqual(12 * MINUTE);
    expect(clock.ms).toBeLessThan(13 * MINUTE);
  });

  it('repeats a read that fails', async () => {
    const { outcomes } = waiting((log_id, ms) => (ms < 6 * MINUTE ? throttled() : delivered(log_id)));
    expect(await outcomes).toEqual({ SUCCESS: 2 });
  });

  it('reads once more when reads work again, however long there was no new outcome', async () => {
    const blind = (ms: number) => ms > 4 * MINUTE && ms < 10 * MINUTE;
    const { outcomes } = waiting((log_id, ms) => {
      if (blind(ms)) return throttled();
      return ms < 10 * MINUTE ? due(log_id) : delivered(log_id);
    });
    expect(await outcomes).toEqual({ SUCCESS: 2 });
  });

  it('waits for a row that cannot be read no longer than for any other row', async () => {
    const { outcomes, clock } = waiting((log_id) => (log_id === 'a' ? throttled() : delivered(log_id)));
    await expect(outcomes).rejects.toThrow(OutcomesUnreadableError);
    expect(clock.ms).toBeLessThan(8 * MINUTE);
  });

  it('fails with the known outcomes when no read works any more, and names the error', async () => {
    const { outcomes, clock } = waiting((log_id, ms) =>
      log_id === 'a' && ms === 0 ? delivered(log_id) : ms === 0 ? due(log_id) : throttled(),
    );
    const error = await outcomes.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OutcomesUnreadableError);
    expect(error).toMatchObject({
      name: 'OutcomesUnreadableError',
      message: 'no outcome could be read for 420 s, the last time because of ThrottlingException: slow down',
      cause: expect.objectContaining({ name: 'ThrottlingException' }),
      outcomes: { SUCCESS: 1, UNSETTLED: 1 },
    });
    expect(clock.ms).toBeGreaterThanOrEqual(PATIENCE_MS);
  });

  it('continues while an attempt that moved the row is under way, as a forced one on a dead row does', async () => {
    const moved = (log_id: string) => dueRow({ log_id, send_status: 'SENDING', work_at: iso(MINUTE) });
    const { outcomes } = waiting((log_id, ms) => (ms < MINUTE ? moved(log_id) : delivered(log_id)));
    expect(await outcomes).toEqual({ SUCCESS: 2 });
  });

  it('takes one row that can be read for a sign that storage works', async () => {
    const { outcomes } = waiting((log_id) => (log_id === 'a' ? throttled() : due(log_id)));
    expect(await outcomes).toEqual({ UNSETTLED: 2 });
  });

  it('ends at the very moment when its patience does, with and without reads that work', async () => {
    // The first pause without news.
    const patience_ms = 300;
    const open = waiting(due, { patience_ms });
    expect(await open.outcomes).toEqual({ UNSETTLED: 2 });
    const blind = waiting(throttled, { patience_ms });
    await expect(blind.outcomes).rejects.toThrow(OutcomesUnreadableError);
    expect([open.clock.ms, blind.clock.ms]).toEqual([300, 300]);
  });

  it('is over at once, and reports nothing, when nothing was dispatched', async () => {
    const rounds: unknown[] = [];
    const deps = { read: async () => undefined, pause: async () => {}, now: () => 0, patience_ms: PATIENCE_MS };
    expect(await awaitOutcomes([], { ...deps, onProgress: (...round) => rounds.push(round) })).toEqual({});
    expect(rounds).toEqual([]);
  });

  it('reports after each round what is settled and what is open', async () => {
    const rounds: unknown[] = [];
    await waiting((log_id, ms) => (log_id === 'a' || ms > 0 ? delivered(log_id) : due(log_id)), {
      onProgress: (outcomes, open) => rounds.push([{ ...outcomes }, open]),
    }).outcomes;
    expect(rounds).toEqual([
      [{ SUCCESS: 1 }, 1],
      [{ SUCCESS: 2 }, 0],
    ]);
  });
});

describe('waiting that is interrupted', () => {
  const some = (log_id: string) => (log_id === 'a' ? delivered(log_id) : due(log_id));

  it('ends in the middle of a pause', async () => {
    const interrupt = new AbortController();
    const { outcomes } = waiting(some, {
      signal: interrupt.signal,
      pause: () => {
        interrupt.abort();
        return new Promise(() => {});
      },
    });
    expect(await outcomes).toEqual({ SUCCESS: 1, UNSETTLED: 1 });
  });

  it('ends in the middle of a read', async () => {
    const interrupt = new AbortController();
    const { outcomes } = waiting(some, {
      signal: interrupt.signal,
      read: () => {
        interrupt.abort();
        return new Promise(() => {});
      },
    });
    expect(await outcomes).toEqual({ UNSETTLED: 2 });
  });

  it('does not start when it was interrupted before', async () => {
    const { outcomes, clock } = waiting(some, { signal: AbortSignal.abort() });
    expect(await outcomes).toEqual({ UNSETTLED: 2 });
    expect(clock.reads).toBe(0);
  });
});
