import * as v from 'valibot';
import { CHANNELS, type Channel } from '../../src/core/model/channels.ts';
import { check, explain } from './config-checks.ts';
import { schedule } from './schedule-expression.ts';
import type { Settings, Values } from './setting-types.ts';

const channels = explain(`must be a list of different channels, at least one of ${CHANNELS.join(', ')}`);
const newsletters = explain('must be true, false or "data"');
const monitoring = explain('must be full, critical or off');
const boolean = explain('must be true or false');

/** The parts that a stage takes, beside `api` and `console`, which have settings of their own. */
export const PART_SETTINGS = {
  /**
   * [Channels](docs/reference/costs.md#parts) that the stage delivers on. A row of another one is set aside, and its
   * `error_message` says so.
   * @ja 配信する[チャネル](docs/reference/costs.md#parts)。ほかのチャネルの行は保留され、`error_message` に理由が入る
   */
  channels: {
    check: check(
      v.pipe(
        v.array(v.picklist(CHANNELS, channels), channels),
        v.check((given) => given.length > 0 && new Set(given).size === given.length, channels),
        v.readonly(),
      ) as v.GenericSchema<readonly Channel[]>,
    ),
    standard: CHANNELS,
  },
  /**
   * Newsletters, which need `email` and `api`: `true`, `false`, or `"data"`, which keeps their tables, keys and secrets
   * and nothing that works on them: unsubscribe links of mails that were sent answer 404, and a send stops halfway.
   * @ja ニュースレター（`email` と `api` が必要）。`true`、`false`、またはテーブル・キー・シークレットだけを残す `"data"`（送信済みメールの配信停止リンクは
   * 404 になり、送信中のメールは途中で止まる）
   */
  newsletters: { check: check(v.union([v.boolean(), v.literal('data')], newsletters)), standard: true },
  /**
   * Tells producers what became of what they handed over, [by events on a bus](docs/reference/outcomes.md).
   * @ja 引き渡されたものの結果を[イベントバスで](docs/reference/outcomes.md)知らせる
   */
  outcomes: { check: check(v.boolean(boolean)), standard: false },
  /**
   * When [the stage is verified](docs/reference/verify-and-forget.md#in-the-console-and-by-schedule), which proves that
   * nothing is lost: EventBridge cron or rate, UTC, such as `rate(1 day)`, or `off`. `verification-missing` rings
   * only with `monitoring: full` and pauses of up to 84 hours.
   * @ja 通知が失われていないことを[検証する](docs/reference/verify-and-forget.md#in-the-console-and-by-schedule)スケジュール。EventBridge の
   * cron または rate（UTC）。例: `rate(1 day)`。`off` で停止。`verification-missing` のアラームは `monitoring: full` で間隔が
   * 84 時間以内の場合だけ
   */
  verifySchedule: { check: schedule('off'), standard: 'off' },
  /**
   * `full`: every alarm, and the dashboard. `critical`: about ten alarms, on what loses or delays notifications.
   * `off`: no alarms, metrics and notices.
   * @ja `full` はすべてのアラームとダッシュボード、`critical` は通知の消失・遅延に関する 10 個ほどのアラーム、`off` はアラーム・メトリクス・お知らせなし
   * @absent `full` where `retain`, else `critical` | `retain` なら `full`、ほかは `critical`
   */
  monitoring: { check: check(v.picklist(['full', 'critical', 'off'], monitoring)) },
  /**
   * [Console and monitoring](docs/reference/your-platform.md#a-stack-per-part), which hold no data, as stacks of their own:
   * CloudFormation takes 500 resources a stack.
   * @ja データを持たない[コンソールと監視](docs/reference/your-platform.md#a-stack-per-part)を別のスタックにする。CloudFormation の上限は 1 スタック 500 リソース
   */
  stackPerPart: { check: check(v.boolean(boolean)), standard: false },
  /**
   * Keeps the data: tables refuse to be deleted, and tables, keys, secrets and logs stay when the stack goes.
   * @ja データを残す。テーブルは削除を拒み、テーブル・キー・シークレット・ログはスタックを削除しても残る
   * @absent `true` for the stage `prod`, else `false` | ステージ `prod` は `true`、ほかは `false`
   */
  retain: { check: check(v.boolean(boolean)) },
} as const satisfies Settings;

type Parts = Values<typeof PART_SETTINGS> & { readonly stage: string; readonly api: unknown };

export const retains = ({ retain, stage }: Pick<Parts, 'retain' | 'stage'>): boolean => retain ?? stage === 'prod';

export function monitoringOf(config: Pick<Parts, 'monitoring' | 'retain' | 'stage'>): 'full' | 'critical' | 'off' {
  return config.monitoring ?? (retains(config) ? 'full' : 'critical');
}

/** The parts without which newsletters cannot be. */
export function missingForNewsletters({ channels, api }: Pick<Parts, 'channels' | 'api'>): string[] {
  return [...(channels.includes('email') ? [] : ['the channel email']), ...(api === false ? ['the api'] : [])];
}
