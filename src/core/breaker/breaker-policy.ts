import { type Configured, type NamedSettings, standardsOf } from '../model/setting.ts';

/**
 * When a provider counts as down, and how it is tried again. Five notifications also cover an integration with little
 * traffic; four fifths do not hold one with a few bad recipients. SQS can delay a message by the longest interval, so a
 * held notification comes back without a sweep; it is short because a provider that is back and not probed is time in
 * which nothing drains (docs/decisions/delivery/breaker.md#0132).
 */
export const BREAKER_SETTINGS = {
  /**
   * Fewest notifications of one worker within the window that can open the [breaker](docs/runbook.md#a-provider-is-down).
   * @ja [ブレーカー](docs/runbook.md#a-provider-is-down)を開くのに必要な、期間内の通知数（ワーカーごと）
   */
  minSamples: { name: 'min_samples', from: 1, to: 1000, unit: 'notifications', whole: true, standard: 5 },
  /**
   * Share of these from which the breaker opens, if they failed with an error of an outage.
   * @ja そのうち障害のエラーで失敗した割合がこの値以上ならブレーカーが開く
   */
  failureShare: { name: 'failure_share', from: 0.1, to: 1, unit: 'share of failures', standard: 0.8 },
  /** Length of the window in seconds. @ja 判定の期間（秒） */
  windowSeconds: { name: 'window_seconds', from: 1, to: 3600, unit: 'seconds', standard: 120 },
  /**
   * Seconds from opening to the first probe. Each probe that fails doubles them, up to `maxIntervalSeconds`.
   * @ja ブレーカーが開いてから最初に確かめるまでの秒数。失敗するたびに `maxIntervalSeconds` まで 2 倍になる
   */
  intervalSeconds: { name: 'interval_seconds', from: 1, to: 3600, unit: 'seconds', standard: 30 },
  /** Longest time in seconds between two probes of a provider that is down. @ja 停止中の送信先を確かめる間隔の上限（秒） */
  maxIntervalSeconds: { name: 'max_interval_seconds', from: 1, to: 3600, unit: 'seconds', standard: 120 },
  /**
   * Notifications that a provider that is back gets per second at first, and the least rate of a line. They
   * [double every five seconds](docs/decisions/delivery/breaker.md#0132), up to the provider's budget.
   * @ja 復旧した送信先に最初に送る毎秒の件数（以後の下限でもある）。[5 秒ごとに 2 倍](docs/decisions/delivery/breaker.md#0132)になり、
   * 送信先の許容量まで増える
   */
  drainPerSecond: { name: 'drain_per_second', from: 0.1, to: 1000, unit: 'notifications', standard: 20 },
} as const satisfies NamedSettings;

/** Held notifications per lane that are let go each second where no budget is known. */
const MOST_PER_SECOND = 500;

export type BreakerConfig = Configured<typeof BREAKER_SETTINGS>;

/** BREAKER_SETTINGS with `…_ms` in place of `…_seconds`. */
export type BreakerPolicy = {
  readonly [K in keyof BreakerConfig as K extends `${infer Time}_seconds` ? `${Time}_ms` : K]: BreakerConfig[K];
} & { readonly most_per_second: number };

export const DEFAULT_BREAKER_POLICY = breakerPolicyOf(/* @__PURE__ */ standardsOf(BREAKER_SETTINGS));

/* @__NO_SIDE_EFFECTS__ */
export function breakerPolicyOf(config: BreakerConfig): BreakerPolicy {
  const inMilliseconds = Object.entries(config).map(([name, value]) =>
    name.endsWith('_seconds') ? [name.replace(/seconds$/, 'ms'), value * 1000] : [name, value],
  );
  return {
    ...(Object.fromEntries(inMilliseconds) as Omit<BreakerPolicy, 'most_per_second'>),
    most_per_second: Math.max(config.drain_per_second, MOST_PER_SECOND),
  };
}
