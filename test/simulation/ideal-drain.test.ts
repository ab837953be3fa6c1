import { expect, it } from 'vitest';
import { idealExpired } from '../../simulation/audit/ideal-drain.ts';

const HOUR_MS = 3_600_000;
const waiting = (priority: string, count: number, since = 0) =>
  Array.from({ length: count }, () => ({ priority, since }));

it('lets expire what even a drain without a pause reaches too late: the least important, after 3 hours', () => {
  // Of the 7,200 seconds until info expires, urgent takes 4,000; one in 7,201 fits at its first moment.
  const held = [...waiting('info', 5_000), ...waiting('urgent', 4_000)];
  expect(idealExpired(held, HOUR_MS, 1)).toBe(5_000 - 3_201);
  expect(idealExpired(held, HOUR_MS, 2)).toBe(0);
});

it('counts what had expired before, and takes no slot for it', () => {
  expect(idealExpired([...waiting('info', 3), ...waiting('info', 2, 2 * HOUR_MS)], 4 * HOUR_MS, 1)).toBe(3);
});
