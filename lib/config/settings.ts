import * as v from 'valibot';
import { isPageOrigin, PAGE_ORIGIN_RULE } from '../../src/application/contract/api/page-cors.ts';
import { BREAKER_SETTINGS } from '../../src/core/breaker/breaker-policy.ts';
import { INDEX_SHARD_SETTINGS } from '../../src/core/model/index-shards.ts';
import { RETRY_SETTINGS } from '../../src/core/model/retry-policy.ts';
import { isTimeZone } from '../../src/core/model/time.ts';
import { RECIPIENT_DAYS } from '../../src/core/newsletter/model/batch.ts';
import { EMAIL_CONCURRENCY } from '../../src/core/newsletter/model/email.ts';
import { JOB_RETRY_SETTINGS, UNCERTAIN_MINUTES } from '../../src/core/newsletter/model/job-limits.ts';
import { PACING_SETTINGS } from '../../src/core/pacing/pacing-policy.ts';
import { ALARM_SETTINGS, NOTICE_SETTINGS } from './alarm-settings.ts';
import { check, explain, listOf, matching, numberOf } from './config-checks.ts';
import { CONSOLE } from './console-config.ts';
import { FUNCTION_MEMORY_MB } from './function-memory.ts';
import { LANE_SETTINGS } from './lane-config.ts';
import { PART_SETTINGS } from './parts.ts';
import { PLATFORM_SETTINGS } from './platform-settings.ts';
import { schedule } from './schedule-expression.ts';
import type { Settings } from './setting-types.ts';

/** The numbers of days that CloudWatch Logs accepts as a retention. */
const LOG_RETENTION_DAYS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
] as const;

/** The message does not show the value, because addresses do not belong in errors. */
const sender = ({ received }: { readonly received: string }) =>
  `${received === 'undefined' ? 'is missing: ' : ''}must be a plain e-mail address, such as noreply@your-domain.example`;
const address = v.pipe(v.string(sender), v.email(sender));
const flag = check(v.boolean(explain('must be true or false')));
const stageName = explain('must be a lower-case letter followed by at most 15 of a-z, 0-9 and -');
const sesName = matching(/^[A-Za-z0-9_-]{1,64}$/, explain('must be 1 to 64 of A-Z, a-z, 0-9, _ and -'));
const senderPattern = explain('must be an e-mail address, or *@ and a domain, such as *@news.your-domain.example');
const zone = explain('must be a time zone, such as Asia/Tokyo');
const origin = explain(PAGE_ORIGIN_RULE);
const domainName = explain('must be a domain in lower case, such as api.your-domain.example');
const certificate = explain('must be the ARN of a certificate: arn:aws:acm:REGION:ACCOUNT:certificate/ID');
const port = numberOf({ from: 1, to: 65_535, unit: 'port', whole: true }, undefined, true) as v.GenericSchema<number>;

/**
 * Everything that a stage may set, each declared once: here, or in the room of the core whose policy it is. Types
 * (stage-config.ts), checks and defaults (config-checks.ts), the functions' environment (settings-json.ts) and
 * docs/reference/configuration.md follow from the declarations (setting-types.ts).
 */
export const SETTINGS = {
  /**
   * Part of every name. In `cdk.json` it is the name of the section, and `-c stage=<name>` chooses it.
   * @ja すべての名前の一部。`cdk.json` では節の名前で、`-c stage=<name>` で選ぶ
   */
  stage: { check: check(matching(/^[a-z][a-z0-9-]{0,15}$/, stageName)), required: true },
  /**
   * From address of e-mails. The address or its domain is verified in SES.
   * @ja メールの差出人アドレス。アドレスかドメインを SES で検証しておく
   * @absent required with the channel `email` | `email` チャネルがあれば必須
   */
  senderAddress: { check: check(address) },
  ...PART_SETTINGS,
  ...PLATFORM_SETTINGS,
  /**
   * Your own SES configuration set; it gets a destination for events.
   * @ja 既存の SES 設定セット。イベントの送信先が追加される
   * @absent the stack makes one | 新規作成
   */
  configurationSet: { check: check(sesName) },
  /**
   * From addresses that e-mail integrations may use in place of `senderAddress`. The role may send as no others.
   * @ja メール連携設定が `senderAddress` の代わりに使ってよい差出人アドレス。これ以外では送れない
   */
  integrationSenders: { check: listOf(address, 'e-mail addresses'), standard: [] },
  /**
   * Configuration sets that e-mail integrations may name, and those that SES applies to a sender by itself.
   * @ja メール連携設定が指定してよい設定セットと、SES が差出人に自動で適用する設定セット
   */
  integrationConfigurationSets: { check: listOf(sesName, 'names of SES configuration sets', 500), standard: [] },
  /**
   * When the dispatcher sweeps (batch-952 §1).
   * @ja スイープのスケジュール（batch-952 §1）
   */
  schedule: { check: schedule(), standard: 'cron(30 * * * ? *)' },
  /**
   * Minutes of work that a scheduled sweep puts into a lane; the rest waits in the index, where urgent comes first.
   * @ja スケジュールのスイープがレーンに入れる量（レーンが処理できる分数）。残りは優先度順にインデックスで待つ
   */
  laneMinutes: { from: 1, to: 60, unit: 'minutes', whole: true, standard: 5 },
  /**
   * Minutes between two express runs, which queue due rows of others that are urgent or important; 0: none.
   * @ja スイープの合間に、期限の来た urgent・important の行（ほかの書き手のもの）を送る間隔（分）。0 ならスイープだけ
   */
  urgentSweepMinutes: { from: 0, to: 60, unit: 'minutes; 0: off', whole: true, standard: 5 },
  ...RETRY_SETTINGS,
  breaker: { section: BREAKER_SETTINGS },
  pacing: { section: PACING_SETTINGS },
  newsletter: {
    section: {
      /**
       * From addresses of [newsletters](docs/decisions/newsletters/on-aws.md#0107), or `*@domain`; fallback domains
       * included. Empty: every address at the domain of `senderAddress`.
       * @ja [ニュースレター](docs/decisions/newsletters/on-aws.md#0107)の差出人アドレス、または `*@domain`。フォールバックドメインを含む。
       * 空なら `senderAddress` のドメインの全アドレス
       */
      senders: {
        check: listOf(matching(/^(\*|[^@\s*]+)@[A-Za-z0-9.-]+$/, senderPattern), 'addresses'),
        standard: [],
      },
      /** Only tenants with [own senders](docs/newsletters.md) publish. @ja [差出人](docs/newsletters.md)を持つテナントだけが配信できる */
      ownSendersOnly: { check: flag, standard: false },
      /** Mails [say who sends them](docs/newsletters.md#what-the-law-asks-for). @ja [差出人の表示](docs/newsletters.md#what-the-law-asks-for)を必須にする */
      requireAddress: { check: flag, standard: false },
      /**
       * Batches of one email that are sent at once (batch-sending-service-job.md, 最大並列度).
       * @ja 1 通のメールで同時に送るバッチ数（batch-sending-service-job.md の最大並列度）
       */
      batchConcurrency: { from: 1, to: 10, unit: 'batches at once', whole: true, standard: EMAIL_CONCURRENCY },
      /** Batches of all emails that are sent at once. @ja 全メールで同時に送るバッチ数 */
      totalConcurrency: { from: 2, to: 1000, unit: 'batches at once', whole: true, standard: 10 },
      ...JOB_RETRY_SETTINGS,
      /**
       * Minutes for which events of SES may still tell of an uncertain recipient, before
       * [`resolve --resend`](docs/decisions/newsletters/calls-and-outcomes.md#0190) takes it; 0: at once.
       * @ja 結果不明の受信者について SES のイベントを待つ時間（分）。この時間が過ぎるまで
       * [`resolve --resend`](docs/decisions/newsletters/calls-and-outcomes.md#0190) はその受信者に再送しない。0 は待たない
       */
      uncertainMinutes: { from: 0, to: 1440, unit: 'minutes; 0: at once', whole: true, standard: UNCERTAIN_MINUTES },
      /**
       * Days for which an email's [recipients](docs/decisions/newsletters/unsubscribe-and-rates.md#0110) are kept:
       * afterwards they are neither listed nor sent to again.
       * @ja メールの[受信者](docs/decisions/newsletters/unsubscribe-and-rates.md#0110)を保持する日数。過ぎると一覧も再送もできない
       */
      recipientDays: { from: 14, to: 730, unit: 'days', whole: true, standard: RECIPIENT_DAYS },
      /** When the clock looks for emails whose time has come. @ja 時刻になったメールを探すスケジュール */
      clockSchedule: { check: schedule(), standard: 'rate(1 minute)' },
    },
  },
  ...LANE_SETTINGS,
  indexShards: { section: INDEX_SHARD_SETTINGS },
  /**
   * [Memory](docs/decisions/aws/lanes-and-functions.md#0139) of a function in megabytes, by its folder in `functions/`.
   * CPU grows with it.
   * @ja `functions/` のフォルダー名で指定する関数の[メモリー](docs/decisions/aws/lanes-and-functions.md#0139)（MB）。CPU も比例して増える
   */
  memoryMb: { from: 128, to: 10_240, unit: 'megabytes', whole: true, standard: FUNCTION_MEMORY_MB },
  reservedConcurrency: {
    optional: true,
    section: {
      /**
       * With this section, Lambda keeps [concurrency](docs/decisions/aws/lanes-and-functions.md#0090) for dispatcher and
       * senders. The account's limit in this region (`aws lambda get-account-settings`), at least what is reserved and
       * 100 more.
       * @ja この節があると、ディスパッチャーと送信関数のために[同時実行数](docs/decisions/aws/lanes-and-functions.md#0090)を確保する。
       * このリージョンのアカウント上限（`aws lambda get-account-settings`）で、確保する合計に 100 を足した値以上が必要
       */
      accountLimit: { from: 1, to: 1_000_000, unit: 'executions of the account', whole: true, required: true },
      /**
       * Invocations that are kept for the dispatcher. The senders get what `concurrency` allows them.
       * @ja ディスパッチャーのために確保する同時実行数。送信関数には `concurrency` の分を確保する
       */
      dispatcher: { from: 2, to: 1_000, unit: 'invocations', whole: true, standard: 5 },
    },
  },
  /**
   * Ports beside 443 to which webhooks, Slack and Teams may be posted. An integration may have ports of its own.
   * @ja Webhook、Slack、Teams の送信先として 443 のほかに許可するポート。連携設定ごとにも指定できる
   */
  webhookPorts: { check: listOf(port, 'ports', 500), standard: [] },
  /**
   * When the monitor looks for old work and for notifications that were given up.
   * @ja 滞留と断念を調べるスケジュール
   */
  monitorSchedule: { check: schedule(), standard: 'rate(5 minutes)' },
  /**
   * Zone of the times that other writers write without one, such as `Asia/Tokyo`.
   * @ja ほかの書き手がゾーンなしで書いた時刻のタイムゾーン（例: `Asia/Tokyo`）
   */
  timeZone: { check: check(v.pipe(v.string(zone), v.check(isTimeZone, zone))), standard: 'UTC' },
  /**
   * When the reconciler looks for rows that were never taken in, or `off`.
   * @ja 取り込まれなかった行を探すスケジュール。`off` で停止
   */
  reconcileSchedule: { check: schedule('off'), standard: 'rate(1 day)' },
  /** Read units that the reconciler may use per second. @ja その読み取りに使う毎秒の読み取りユニット */
  reconcileReadUnits: { from: 1, to: 10_000, unit: 'read units a second', whole: true, standard: 50 },
  /**
   * Addresses that get alarms and notices, once they confirm SNS's message. Others subscribe to the topic.
   * @ja アラームとお知らせを受け取るメールアドレス。SNS の確認メールに応じると届く。ほかの宛先はトピックを購読する
   */
  alarmEmails: { check: listOf(address, 'e-mail addresses'), standard: [] },
  notices: { section: NOTICE_SETTINGS },
  alarms: { section: ALARM_SETTINGS },
  /** The HTTP API, or `false` for a stage without it. @ja HTTP API。`false` なら作らない */
  api: {
    orFalse: true,
    section: {
      /**
       * Requests per second, all keys together. Each key has a limit of its own besides.
       * @ja 全キー合計の毎秒リクエスト数。キーごとの上限は別にある
       */
      rateLimit: { from: 1, to: 10_000, unit: 'requests a second', whole: true, standard: 500 },
      /** Requests at once, all keys together. @ja 全キー合計の同時リクエスト数 */
      burstLimit: { from: 1, to: 5_000, unit: 'requests at once', whole: true, standard: 1_000 },
      /**
       * Origins whose [web pages](docs/reference/web-pages.md) may call the API, such as
       * `["https://app.your-domain.example"]`.
       * @ja API を呼べる [Web ページ](docs/reference/web-pages.md)のオリジン。例: `["https://app.your-domain.example"]`
       */
      corsOrigins: { check: listOf(v.pipe(v.string(origin), v.check(isPageOrigin, origin)), 'origins'), standard: [] },
      domain: {
        optional: true,
        section: {
          /**
           * A domain of yours for the API, whose DNS record names the output `ApiDomainTarget`. Unsubscribe links lead there
           * for two years: API Gateway's own name goes with the API.
           * @ja API 用の独自ドメイン。DNS レコードは出力 `ApiDomainTarget` を指す。配信停止リンクは 2 年間使われるが、API Gateway の既定の名前は
           * API とともに消える
           */
          name: {
            check: check(matching(/^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,}$/, domainName)),
            required: true,
          },
          /** Its certificate in AWS Certificate Manager, in this region. @ja その証明書（AWS Certificate Manager、同じリージョン） */
          certificateArn: {
            check: check(matching(/^arn:[a-z-]+:acm:[a-z0-9-]+:\d{12}:certificate\/.+$/, certificate)),
            required: true,
          },
        },
      },
    },
  },
  /**
   * The [console](docs/reference/console.md) on the web: `off`, `{issuer, clientId, scope}` (`scope` may be absent:
   * `openid email profile`) or `{cognito: {domainPrefix}}`; beside these `roleClaim`, `operators`, `viewers`.
   * @ja Web 上の[コンソール](docs/reference/console.md)。`off`、`{issuer, clientId, scope}`（`scope` は省略可: `openid email profile`）、
   * `{cognito: {domainPrefix}}` のいずれか。併せて `roleClaim`、`operators`、`viewers`
   */
  console: { check: CONSOLE, standard: 'off' },
  /** Days that log lines are kept: one of CloudWatch's steps. @ja ログの保持日数。CloudWatch で選べる日数 */
  logRetentionDays: {
    check: check(v.picklist(LOG_RETENTION_DAYS, explain(`must be one of ${LOG_RETENTION_DAYS.join(', ')} (days)`))),
    standard: 90,
  },
  /** The least important log lines that are written: DEBUG, INFO, WARN or ERROR. @ja 出力するログの最低レベル。DEBUG、INFO、WARN、ERROR */
  logLevel: {
    check: check(v.picklist(['DEBUG', 'INFO', 'WARN', 'ERROR'], explain('must be DEBUG, INFO, WARN or ERROR'))),
    standard: 'INFO',
  },
} as const satisfies Settings;
