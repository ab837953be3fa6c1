import { describe, expect, it } from 'vitest';
import { createSendPacing } from '../../../../src/core/newsletter/sending/send-pacing.ts';

const NOW = Date.parse('2026-03-01T10:00:00.000Z');

function pacingWith(slots: readonly number[], waits: readonly number[]) {
  const asked: unknown[] = [];
  const paused: number[] = [];
  const exceeded: string[] = [];
  const pacing = createSendPacing(
    {
      reserve: async (asks) => {
        asked.push(...asks);
        return [{ slots: slots.map((ms) => NOW + ms), waits: waits.map((ms) => NOW + ms) }];
      },
      exceeded: async (limit) => void exceeded.push(limit),
    },
    { clock: () => new Date(NOW), pause: async (ms) => void paused.push(ms) },
  );
  return { pacing, asked, paused, exceeded };
}

describe('a call of newsletters', () => {
  it('begins with the first of its slots, and holds as many mails as it has slots', async () => {
    const { pacing, asked, paused } = pacingWith([250, 300, 350], []);
    expect(await pacing.reserve(3)).toEqual({ granted: 3 });
    expect(paused).toEqual([250]);
    expect(asked).toEqual([{ key: 'account', count: 3, use: 'newsletter' }]);
  });

  it('begins at once with a slot that the budget kept', async () => {
    const { pacing, paused } = pacingWith([-200, 50], []);
    expect(await pacing.reserve(2)).toEqual({ granted: 2 });
    expect(paused).toEqual([]);
  });

  it('is told when the earliest of the others may ask again', async () => {
    const { pacing, paused } = pacingWith([], [9_000, 4_000]);
    expect(await pacing.reserve(2)).toEqual({ granted: 0, retry_at: '2026-03-01T10:00:04.000Z' });
    expect(paused).toEqual([]);
  });

  it('tells the budget which limit refused it', async () => {
    const { pacing, exceeded } = pacingWith([], []);
    await pacing.refused('throttled');
    await pacing.refused('quota');
    expect(exceeded).toEqual(['rate', 'quota']);
  });
});
