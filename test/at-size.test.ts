import { expect, it } from 'vitest';
import { MOST_BATCHES } from '../src/core/newsletter/model/batch.ts';
import { CATALOGUE } from '../tools/simulation/catalogue.ts';
import { measureVolume } from '../tools/simulation/volume/volume.ts';

/** Notifications, which no table holds; two million in CI. */
const SIZE = Number(process.env['AT_SIZE'] ?? 5_000);

function volumeOf(name: string) {
  const found = CATALOGUE.get(name);
  if (found === undefined || !('volume' in found)) throw new Error(`There is no scenario ${name}.`);
  return found;
}

it.each([
  ['verify-at-size', SIZE],
  ['replay-at-size', Math.max(5_000, SIZE / 10)],
  ['shared-fallback-forgotten', Math.min(SIZE, 100_000)],
  ['status-of-a-large-mailing', Math.min(SIZE / 10, MOST_BATCHES)],
  ['backlog-5-million', SIZE],
  ['backlog-10-million', SIZE],
  ['flood-of-deaths', SIZE],
] as const)(
  '%s of %d takes the same for each, and no memory for all',
  async (name, count) => {
    const { budgets, ...figures } = await measureVolume(volumeOf(name), { count, seed: 1 });
    if (SIZE > 1_000_000) console.info(JSON.stringify({ ...figures, budgets }));
    expect(figures).toMatchObject({ violations: 0, examples: [], notifications: count });
    expect(budgets.length).toBeGreaterThan(0);
    expect(budgets.filter(({ met }) => !met)).toEqual([]);
  },
  1_800_000,
);
