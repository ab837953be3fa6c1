import type { Random } from '../model/random.ts';

/** 40 bits: enough that no two claims of one row share a token, and short, as the row must stay below a kilobyte. */
const VALUES = 36 ** 8;

export function claimToken(random: Random): string {
  return Math.floor(random() * VALUES)
    .toString(36)
    .padStart(8, '0');
}
