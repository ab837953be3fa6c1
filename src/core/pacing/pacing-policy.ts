import type { Priority } from '../model/channels.ts';
import { PRIORITY_POLICY } from '../model/retry-policy.ts';
import { type Configured, type NamedSettings, standardsOf } from '../model/setting.ts';

/** How far the providers' allowances are used. Two seconds' worth of look-ahead stay free for `express`. */
export const PACING_SETTINGS = {
  /**
   * [Share of the allowance](docs/decisions/delivery/pacing.md#0096) of e-mail that only urgent and important ones use.
   * @ja メールの[許容量](docs/decisions/delivery/pacing.md#0096)のうち urgent と important だけが使える割合
   */
  expressShare: { name: 'express_only', from: 0, to: 0.9, unit: 'share of the allowance', standard: 0.1 },
  /** Largest share of the allowance that newsletters may use. @ja ニュースレターが使える最大の割合 */
  newsletterShare: { name: 'newsletter', from: 0, to: 0.9, unit: 'share of the allowance', standard: 0.7 },
  /** E-mails per second while SES cannot be asked what it allows. @ja SES に上限を問い合わせできない間の毎秒メール数 */
  fallbackPerSecond: { name: 'fallback_per_second', from: 0.01, to: 100_000, unit: 'e-mails a second', standard: 10 },
  /**
   * E-mails per second that are never exceeded, if SES allows more.
   * @ja 毎秒メール数の上限。SES の許可がこれより多くても超えない
   * @absent SES's own rate | SES の上限
   */
  maxPerSecond: { name: 'max_per_second', from: 0.01, to: 100_000, unit: 'e-mails a second' },
  /**
   * E-mails in any 24 hours that are never exceeded, if SES allows more.
   * @ja 24 時間のメール数の上限。SES の許可がこれより多くても超えない
   * @absent SES's own quota | SES の上限
   */
  maxPerDay: { name: 'max_per_day', from: 1, to: 1_000_000_000, unit: 'e-mails in 24 hours', whole: true },
} as const satisfies NamedSettings;

/** What the variable PACING holds besides. */
export const PACING_WORKERS = {
  /** Batches of the channel that may run at the same time. */
  workers: { name: 'workers', from: 1, to: 1_000_000, unit: 'batches', whole: true, standard: 1 },
} as const satisfies NamedSettings;

export type PacingPolicy = Configured<typeof PACING_SETTINGS>;

export const DEFAULT_PACING_POLICY: PacingPolicy = /* @__PURE__ */ standardsOf(PACING_SETTINGS);

/** Posts per second to one Slack channel, and to one Teams webhook. */
export const SLACK_PER_SECOND = 1;
export const TEAMS_PER_SECOND = 4;

/** The planned part of a rate. The rest pays for late and early e-mails: SES charges excess to the next second. */
export const PLANNED_SHARE = 0.98;

/** Milliseconds ahead for which slots are given out: the longest that a function waits for a slot. */
export const LOOK_AHEAD_MS = { account: 1_000, receiver: 2_000 } as const;

/**
 * Milliseconds of unused slots that the account keeps: messages that came a moment too late to their turn make up for it. That is
 * the whole burst, below the second that SES allows. A newsletter's call, which is up to 0.7 s ahead of its slots, gets fewer.
 */
export const KEPT_MS = { single: 500, newsletter: 300 } as const;

/** What an allowance is used for, the most important use first. */
export const USES = ['express', 'standard', 'info', 'newsletter'] as const;
export type Use = (typeof USES)[number];

export function useOf(priority: Priority): Use {
  if (PRIORITY_POLICY[priority].lane === 'express') return 'express';
  return priority === 'info' ? 'info' : 'standard';
}
