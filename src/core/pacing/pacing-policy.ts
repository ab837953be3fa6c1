import type { Shares } from './uses.ts';

/** How far the providers' allowances are used. */
export interface PacingPolicy extends Shares {
  /** E-mails per second that are never exceeded, whatever SES allows; above 0. */
  readonly max_per_second?: number;
  /** E-mails in any 24 hours that are never exceeded, whatever SES allows. */
  readonly max_per_day?: number;
  /** E-mails per second while SES's own limit is not known; above 0. */
  readonly fallback_per_second: number;
}

/** Two seconds' worth of look-ahead stay free for `express` and, of a daily quota, a tenth. */
export const DEFAULT_PACING_POLICY: PacingPolicy = { express_only: 0.1, newsletter: 0.7, fallback_per_second: 10 };

/** Posts per second to one Slack channel, and to one Teams webhook. */
export const SLACK_PER_SECOND = 1;
export const TEAMS_PER_SECOND = 4;

/**
 * The part of a rate that is planned. The rest pays for e-mails that leave a little late or early: SES counts what
 * exceeds the rate against the next second.
 */
export const PLANNED_SHARE = 0.98;

/** Milliseconds ahead for which slots are given out: the longest that a function waits for a slot. */
export const LOOK_AHEAD_MS = { account: 1_000, receiver: 2_000 } as const;

/**
 * Milliseconds of unused slots that are kept: messages that came a moment too late to their turn make up for it. That is
 * the whole burst, well below the second that SES allows.
 */
export const KEPT_MS = { account: 300, receiver: 0 } as const;
