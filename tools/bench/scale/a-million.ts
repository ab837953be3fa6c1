import { FUNCTION_MEMORY_MB } from '../../../lib/config/function-memory.ts';
import { markdownTable } from '../report.ts';
import { priceAtRest, STAGES_AT_REST, totalOf } from './price-at-rest.ts';
import { BATCH, batchSeconds, CORE_MB, CPU_SECONDS, PER_NOTIFICATION } from './settings.ts';
import { OTHERS_PRICES, UNIT_PRICES } from './unit-prices.ts';

const MILLION = 1e6;
/** Webhooks of 1 KB from the API, of which this share fails once, and is delivered by its retry. */
const FAILED = 0.05;
const ATTEMPTS = 1 + FAILED;
const HOURS = 730;

/** Write units (docs/reference/costs.md): from the API to the delivery, and for an attempt that fails. */
const WRITES = { delivered: 8, failed: 5 } as const;
const READS_PER_ATTEMPT = 0.5;
/** SQS requests of an attempt in batches of 25, and of one that waits in the queue, more. */
const SQS = { attempt: 0.34, delayed: 0.1 } as const;
/** Seconds for which a request waits for storage. */
const STORED_SECONDS = 0.02;
/** Tenants whose data keys the instances unwrap once an hour. */
const TENANTS = 100;
/** Of a request of a batch to the API. */
const IN_ONE_REQUEST = 25;
/** A line of the API's access log, and one of the attempt. */
const LOGGED_GIGABYTES = 2 * PER_NOTIFICATION.log_gigabytes;

const P = UNIT_PRICES;
const O = OTHERS_PRICES;

/** What a million requests of the API cost beside storage: API Gateway, and the function. */
function requests(notifications_in_one: number): { readonly gateway: number; readonly lambda: number } {
  const count = MILLION / notifications_in_one;
  const mb = FUNCTION_MEMORY_MB['api-intake'];
  const seconds = STORED_SECONDS + (notifications_in_one * CPU_SECONDS) / (mb / CORE_MB);
  return {
    gateway: count * P.http_api_request,
    lambda: count * (P.lambda_request + seconds * (mb / 1_024) * P.lambda_gigabyte_second),
  };
}

/** By what is paid, in dollars. */
export function ours() {
  const mb = FUNCTION_MEMORY_MB['send-webhook'];
  const batches = (MILLION * ATTEMPTS) / BATCH;
  const { gateway, lambda } = requests(1);
  const sending = batches * (P.lambda_request + batchSeconds(mb) * (mb / 1_024) * P.lambda_gigabyte_second);
  return {
    dynamodb:
      MILLION * (WRITES.delivered + FAILED * WRITES.failed) * P.write_unit +
      MILLION * ATTEMPTS * READS_PER_ATTEMPT * P.read_unit,
    gateway,
    lambda: lambda + sending,
    logs: MILLION * LOGGED_GIGABYTES * P.log_gigabyte,
    sqs: MILLION * (ATTEMPTS * SQS.attempt + FAILED * SQS.delayed) * P.sqs_request,
    kms: TENANTS * HOURS * P.kms_request,
    streams: 0,
  };
}

const sum = (figures: Readonly<Record<string, number>>): number => Object.values(figures).reduce((a, b) => a + b, 0);

/** The smallest Fargate task and the smallest node of Redis, for a month. */
const fargate = HOURS * (0.25 * O.fargate_cpu_hour + 0.5 * O.fargate_gigabyte_hour + O.address_hour);

/** Dollars per million, and per month whatever the load. */
export const SYSTEMS = {
  ours: [sum(ours()), totalOf(priceAtRest(STAGES_AT_REST.default))],
  eventbridge: [(O.event + ATTEMPTS * O.api_destination) * MILLION, 0],
  sns: [(O.sns_publish + ATTEMPTS * O.sns_http) * MILLION, 0],
  bullmq: [MILLION * ATTEMPTS * PER_NOTIFICATION.log_gigabytes * P.log_gigabyte, fargate + HOURS * O.redis_node_hour],
} as const satisfies Readonly<Record<string, readonly [number, number]>>;

/** What costs least to do without, and what is saved. */
export function savings() {
  const one = requests(1);
  const many = requests(IN_ONE_REQUEST);
  return {
    batches: one.gateway + one.lambda - many.gateway - many.lambda,
    access_log: MILLION * PER_NOTIFICATION.log_gigabytes * P.log_gigabyte,
    monitoring:
      totalOf(priceAtRest(STAGES_AT_REST.default)) -
      totalOf(priceAtRest({ ...STAGES_AT_REST.default, monitoring: 'off' })),
  };
}

const WORDS = {
  en: {
    parts: {
      dynamodb: 'DynamoDB: 8.25 write units, 0.53 read units',
      gateway: 'API Gateway: a request each',
      lambda: 'Lambda: intake and sending, at 256 MB',
      logs: 'logs: 1.4 KB',
      sqs: 'SQS, with fair queues',
      kms: 'KMS: data keys of 100 tenants',
      streams: 'streams that Lambda reads',
    },
    total: '**a million**',
    part: 'of a million',
    dollars: 'dollars',
    systems: {
      ours: 'this project (`default`)',
      eventbridge: 'EventBridge API destinations, DLQ',
      sns: 'SNS to HTTP, DLQ',
      bullmq: 'BullMQ: a Fargate task, a Redis node',
    },
    columns: ['', 'per million', 'and per month', 'a month of 1 million', 'of 10 million', 'of 100 million'],
    savings: {
      batches: 'requests of 25 notifications in place of one each',
      access_log: 'the access log of the API',
      monitoring: '`monitoring: off`, a month',
    },
    saving: ['to take out', 'dollars less'],
  },
  ja: {
    parts: {
      dynamodb: 'DynamoDB：書き込み 8.25、読み込み 0.53 ユニット',
      gateway: 'API Gateway：1 件ごとに 1 リクエスト',
      lambda: 'Lambda：受け付けと送信（256 MB）',
      logs: 'ログ：1.4 KB',
      sqs: 'SQS（フェアキュー）',
      kms: 'KMS：100 テナントのデータキー',
      streams: 'Lambda が読むストリーム',
    },
    total: '**100 万件**',
    part: '100 万件の内訳',
    dollars: 'ドル',
    systems: {
      ours: '本プロジェクト（既定）',
      eventbridge: 'EventBridge API destinations と DLQ',
      sns: 'SNS から HTTP と DLQ',
      bullmq: 'BullMQ：Fargate タスクと Redis ノード 1 つずつ',
    },
    columns: ['', '100 万件あたり', '1 か月の固定分', '月 100 万件', '月 1,000 万件', '月 1 億件'],
    savings: {
      batches: '1 件ずつでなく 25 件ずつのリクエスト',
      access_log: 'API のアクセスログ',
      monitoring: '`monitoring: off`（1 か月）',
    },
    saving: ['省けるもの', '減るドル'],
  },
} as const;

const keysOf = <K extends string>(record: Readonly<Record<K, unknown>>) => Object.keys(record) as K[];

/** The three tables of docs/reference/costs.md. */
export function millionTables(language: 'en' | 'ja'): string {
  const words = WORDS[language];
  const paid = ours();
  const parts = keysOf(words.parts).map((part) => [words.parts[part], paid[part].toFixed(2)]);
  const systems = keysOf(words.systems).map((name) => {
    const [each, fixed] = SYSTEMS[name];
    const months = [1, 10, 100].map((millions) => Math.round(fixed + millions * each).toLocaleString('en-US'));
    return [words.systems[name], each.toFixed(2), fixed.toFixed(2), ...months];
  });
  const less = savings();
  const saved = keysOf(words.savings).map((what) => [words.savings[what], less[what].toFixed(2)]);
  return [
    markdownTable([words.part, words.dollars], [...parts, [words.total, `**${sum(paid).toFixed(2)}**`]]),
    markdownTable(words.columns, systems),
    markdownTable(words.saving, saved),
  ].join('\n');
}
