import * as v from 'valibot';
import { LANGUAGES } from '../../src/core/model/language/sentences.ts';
import { check, explain } from './config-checks.ts';
import type { Settings } from './setting-types.ts';

const COUNT = { from: 0, to: 1_000_000, whole: true } as const;
const MINIMUM = { from: 1, to: 1_000_000, whole: true } as const;
const PERCENT = { from: 0, to: 100, unit: '%' } as const;
/** What Gmail, Yahoo and Microsoft tolerate, and where SES reviews an account. */
const RATE = { from: 0.001, to: 100, unit: '%' } as const;

/** An alarm rings above its threshold. docs/runbook.md has a section for each alarm. */
export const ALARM_SETTINGS = {
  /**
   * Notifications of all channels that die in an hour (retry-and-idempotency-design.md §6).
   * @ja 1 時間にデッドレターになった通知の数（全チャネルの合計、retry-and-idempotency-design.md §6）
   */
  deadLettersPerHour: { ...COUNT, unit: 'notifications', standard: 10 },
  /**
   * Percentage of a channel's retries in 15 minutes that fail, if there are at least `retryFailureMinimum` of them.
   * @ja チャネルの 15 分間のリトライが失敗した割合（%）。`retryFailureMinimum` 件以上の場合
   */
  retryFailurePercent: { ...PERCENT, standard: 5 },
  /** Fewest retries in 15 minutes of which that percentage is judged. @ja その割合を判定するのに必要な 15 分間のリトライ数 */
  retryFailureMinimum: { ...MINIMUM, unit: 'attempts', standard: 20 },
  /** Minutes from queue to attempt, on average of five minutes. @ja キューに入ってから送信を試みるまでの時間（分、5 分間の平均） */
  processingDelayMinutes: { from: 0, to: 1440, unit: 'minutes', standard: 5 },
  /**
   * Hours without a scheduled sweep.
   * @ja スケジュールのスイープがない時間
   * @absent 2, or two pauses of the schedule if these are longer | 2。スケジュールの間隔 2 回分の方が長ければその時間
   */
  sweepMissingHours: { from: 1, to: 168, unit: 'hours', whole: true },
  /**
   * Minutes that a notification may be due.
   * @ja 期限の来た通知が待ってよい時間（分）
   * @absent 120, or two pauses of the schedule if these are longer | 120。スケジュールの間隔 2 回分の方が長ければその時間
   */
  oldestDueMinutes: { from: 1, to: 10_080, unit: 'minutes' },
  /** Errors of any one function in five minutes. @ja 1 つの関数の 5 分間のエラー数 */
  functionErrors: { ...COUNT, unit: 'errors', standard: 0 },
  /** Throttles of any one function in five minutes. @ja 1 つの関数の 5 分間のスロットリング数 */
  functionThrottles: { ...COUNT, unit: 'throttles', standard: 0 },
  /** Minutes that rows of others may wait in the stream. @ja ほかの書き手の行がストリームで待ってよい時間（分） */
  indexerLagMinutes: { from: 1, to: 1440, unit: 'minutes', standard: 15 },
  /** Minutes that outcomes may wait in the streams. @ja 結果の通知がストリームで待ってよい時間（分） */
  outcomesLagMinutes: { from: 1, to: 1440, unit: 'minutes', standard: 15 },
  /** Rows that storage refused for the moment, in five minutes. @ja ストレージが一時的に断った行の数（5 分間） */
  indexerFailures: { ...COUNT, unit: 'rows', standard: 0 },
  /** Breakers that are open. @ja 開いているブレーカーの数 */
  openBreakers: { ...COUNT, unit: 'breakers', standard: 0 },
  /**
   * Percentage of an hour's requests that repeat their key, if at least `idempotentRepeatMinimum` have a key.
   * @ja キーの再送だったリクエストの割合（%、1 時間）。キー付きが `idempotentRepeatMinimum` 件以上の場合
   */
  idempotentRepeatPercent: { ...PERCENT, standard: 50 },
  /** Fewest requests with a key in an hour of which that percentage is judged. @ja その割合を判定するのに必要な 1 時間のキー付きリクエスト数 */
  idempotentRepeatMinimum: { ...MINIMUM, unit: 'requests', standard: 20 },
  /**
   * Percentage of a day's recipients who [mark newsletters as spam](docs/decisions/aws/monitoring.md#0123), if at least
   * `newsletterRateMinimum` got one.
   * @ja ニュースレターを[迷惑メールとした](docs/decisions/aws/monitoring.md#0123)受信者の割合（%、1 日）。受信者が
   * `newsletterRateMinimum` 人以上の場合
   */
  newsletterComplaintPercent: { ...RATE, standard: 0.1 },
  /**
   * Percentage of a day's recipients whose address bounces permanently, if at least `newsletterRateMinimum` got one.
   * @ja アドレスが恒久的にバウンスした受信者の割合（%、1 日）。受信者が `newsletterRateMinimum` 人以上の場合
   */
  newsletterBouncePercent: { ...RATE, standard: 5 },
  /** Fewest recipients in a day of whom these two percentages are judged. @ja この 2 つの割合を判定するのに必要な 1 日の受信者数 */
  newsletterRateMinimum: { ...MINIMUM, unit: 'recipients', standard: 1_000 },
  /**
   * Recipients of batches that end in five minutes of whom nobody knows whether they got the mail.
   * @ja 5 分間に終わったバッチで、届いたかどうか分からない受信者の数
   */
  newsletterUncertain: { ...COUNT, unit: 'recipients', standard: 0 },
  /**
   * How often the clock may find a newsletter in a quarter of an hour that nobody works on.
   * @ja どの関数も処理していないニュースレターが 15 分間に見つかってよい回数
   */
  newsletterStalls: { from: 0, to: 1_000, unit: 'runs of the clock', whole: true, standard: 2 },
  /** Messages in a dead-letter queue of newsletters. @ja ニュースレターのデッドレターキューのメッセージ数 */
  newsletterDeadLetters: { ...COUNT, unit: 'messages', standard: 0 },
} as const satisfies Settings;

/** What the monitor tells operators, beside the alarms. */
export const NOTICE_SETTINGS = {
  /**
   * The language of notices: `en` or `ja`. Their subject, and alarms, are English.
   * @ja お知らせの言語。`en` か `ja`。件名とアラームは英語
   */
  language: { check: check(v.picklist(LANGUAGES, explain('must be en or ja'))), standard: 'en' },
} as const satisfies Settings;
