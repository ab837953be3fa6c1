import type { Priority } from '../model/priorities.ts';
import { PRIORITY_POLICY } from '../model/retry-policy.ts';

/** What an allowance is used for, the most important use first. */
export const USES = ['express', 'standard', 'info', 'newsletter'] as const;
export type Use = (typeof USES)[number];

/** How a budget is divided. Both are shares of the whole, 0…1. */
export interface Shares {
  /** Kept free for `express`. */
  readonly express_only: number;
  /** The most that newsletters may take; at most 1 − express_only. */
  readonly newsletter: number;
}

/**
 * The share of a budget up to which a use may take from it, counting what all uses have taken. `info` lies halfway
 * between newsletters and `normal`, so that a quota pauses newsletters first, then `info`, then `normal`.
 */
export function ceilingOf(use: Use, { express_only, newsletter }: Shares): number {
  const standard = 1 - express_only;
  const bulk = Math.min(newsletter, standard);
  return { express: 1, standard, info: (standard + bulk) / 2, newsletter: bulk }[use];
}

export function useOf(priority: Priority): Use {
  if (PRIORITY_POLICY[priority].lane === 'express') return 'express';
  return priority === 'info' ? 'info' : 'standard';
}
