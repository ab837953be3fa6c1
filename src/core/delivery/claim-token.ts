import type { Random } from './policy/random.ts';

/** 31 bits: enough to tell the claims of one row apart, and short, as the row must stay below a kilobyte. */
const VALUES = 36 ** 6;

export function claimToken(random: Random): string {
  return Math.floor(random() * VALUES)
    .toString(36)
    .padStart(6, '0');
}
