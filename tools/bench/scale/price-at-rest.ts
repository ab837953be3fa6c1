import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { sweepIntervalSeconds } from '../../../lib/config/schedule-expression.ts';
import { parseStageConfig, type StageConfigInput } from '../../../lib/config/stage-config.ts';
import { NotificationRetryStack } from '../../../lib/notification-retry-stack.ts';
import { METRICS, type MetricName } from '../../../src/core/model/metrics.ts';
import { markdownTable } from '../report.ts';
import { UNIT_PRICES as PRICE } from './unit-prices.ts';

type Properties = Readonly<Record<string, unknown>>;

const PLAIN = { stage: 'dev', senderAddress: 'noreply@mail.your-domain.example' } as const;
const LEAST = { stage: 'dev', channels: ['webhook'], api: false, newsletters: false, monitoring: 'off' } as const;
const EVERYTHING = {
  ...PLAIN,
  stage: 'prod',
  outcomes: true,
  console: { issuer: 'https://login.your-domain.example', clientId: 'console' },
} as const;

/** The stages whose price at rest docs/reference/costs.md states. */
export const STAGES_AT_REST = {
  least: LEAST,
  default: PLAIN,
  everything: EVERYTHING,
} as const satisfies Readonly<Record<string, StageConfigInput>>;

const HOURS = 730;
const SECONDS = HOURS * 3_600;
/** Polls of an idle queue by Lambda, per event source and month. */
const RECEIVES = 15 * 60 * HOURS;
/**
 * Seconds without a call after which DynamoDB asks KMS for the key of a table again, for each role. Runs that are closer
 * together leave no such pause.
 */
const KEY_CACHE_SECONDS = 300;
/** A run that finds nothing: billed seconds of a warm function, gigabytes of its lines and Lambda's, tables that it reads. */
const IDLE_RUN = { seconds: 0.1, log_gigabytes: 1e-6, tables: 2 } as const;
/** DynamoDB units of a run that finds nothing (docs/reference/costs.md), by its function and what it is asked. */
const UNITS: Readonly<Record<string, { readonly reads: number; readonly writes: number }>> = {
  dispatcher: { reads: 16, writes: 1 },
  'dispatcher ahead': { reads: 16, writes: 0 },
  'dispatcher express_minutes': { reads: 8, writes: 0 },
  monitor: { reads: 49.5, writes: 1 },
  'newsletter-clock': { reads: 1, writes: 0 },
  reconciler: { reads: 2, writes: 2 },
};

export interface PriceLine {
  readonly en: string;
  readonly ja: string;
  readonly count: number;
  readonly dollars: number;
}

/** What a stage costs a month while nothing happens, from its synthesized template. */
export function priceAtRest(given: StageConfigInput): PriceLine[] {
  const stage = synthesize(given);
  const { channels, of } = stage;
  const line = (en: string, ja: string, count: number, each: number): PriceLine => {
    return { en, ja, count, dollars: count * each };
  };
  const runs = scheduledRuns(stage);
  const polled = of('AWS::Lambda::EventSourceMapping').filter(({ ScalingConfig }) => ScalingConfig !== undefined);
  const alarmMetrics = sum(of('AWS::CloudWatch::Alarm').map(metricsOf));
  return [
    line('KMS keys', 'KMS キー', of('AWS::KMS::Key').length, PRICE.kms_key_month),
    line('secrets', 'シークレット', of('AWS::SecretsManager::Secret').length, PRICE.secret_month),
    line(
      'queues that Lambda polls',
      'Lambda がポーリングするキュー',
      polled.length,
      RECEIVES * PRICE.sqs_empty_receive,
    ),
    line('metrics of alarms', 'アラームのメトリクス', alarmMetrics, PRICE.alarm_metric_month),
    line('custom metrics', 'カスタムメトリクス', customMetrics(runs, channels), PRICE.custom_metric_month),
    line('dashboards', 'ダッシュボード', of('AWS::CloudWatch::Dashboard').length, PRICE.dashboard_month),
    {
      en: 'scheduled runs',
      ja: 'スケジュール実行',
      count: sum(runs.map(({ times }) => times)),
      dollars: sum(runs.map((run) => priceOf(run, channels.length))) + unwrapsOf(runs) * PRICE.kms_request,
    },
  ];
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
export const totalOf = (lines: readonly PriceLine[]): number => sum(lines.map(({ dollars }) => dollars));

type Stage = ReturnType<typeof synthesized>;

function synthesized(given: StageConfigInput) {
  const app = new App({ treeMetadata: false, context: { 'aws:cdk:bundling-stacks': [] } });
  const config = parseStageConfig(given);
  const template = Template.fromStack(new NotificationRetryStack(app, 'Stack', { config }));
  const propertiesById = (type: string): Readonly<Record<string, Properties>> => {
    const found = Object.entries(template.findResources(type));
    return Object.fromEntries(found.map(([id, resource]) => [id, resource['Properties'] ?? {}]));
  };
  return {
    channels: config.channels,
    functions: propertiesById('AWS::Lambda::Function'),
    /** The properties of all resources of a type. */
    of: (type: string) => Object.values(propertiesById(type)),
  };
}

const known = new Map<string, Stage>();

function synthesize(given: StageConfigInput): Stage {
  const key = JSON.stringify(given);
  const stage = known.get(key) ?? synthesized(given);
  known.set(key, stage);
  return stage;
}

type Run = ReturnType<typeof scheduledRuns>[number];

function scheduledRuns({ functions, of }: Stage) {
  return of('AWS::Events::Rule').flatMap(({ ScheduleExpression, Targets }) => {
    if (typeof ScheduleExpression !== 'string') return [];
    const [target] = Targets as readonly { Arn: { 'Fn::GetAtt': readonly [string] }; Input?: string }[];
    const called = functions[target?.Arn['Fn::GetAtt'][0] ?? ''] ?? {};
    const environment: Properties = Object(called['Environment'])['Variables'] ?? {};
    return {
      service: String(environment['POWERTOOLS_SERVICE_NAME']),
      /** What its target tells the function; empty for the schedule's own event. */
      asked: Object.keys(JSON.parse(target?.Input ?? '{}')).join(),
      /** A month. */
      times: SECONDS / averagePause(ScheduleExpression),
      megabytes: Number(called['MemorySize']),
      environment,
    };
  });
}

/** Seconds. A list of minutes, as the look ahead has, divides the hour. */
function averagePause(expression: string): number {
  const [, minutes] = /^cron\((\d+(?:,\d+)*) \* \* \* \? \*\)$/.exec(expression) ?? [];
  return minutes === undefined ? sweepIntervalSeconds(expression) : 3_600 / minutes.split(',').length;
}

function priceOf({ service, asked, times, megabytes }: Run, channels: number): number {
  const { reads, writes } = UNITS[`${service} ${asked}`.trim()] ?? { reads: 0, writes: 0 };
  const lanes = asked === 'ahead' ? 0 : asked === '' ? 2 : 1;
  const counted = service === 'dispatcher' ? lanes * channels : 0;
  const each =
    PRICE.lambda_request +
    IDLE_RUN.seconds * (megabytes / 1_024) * PRICE.lambda_gigabyte_second +
    IDLE_RUN.log_gigabytes * PRICE.log_gigabyte +
    reads * PRICE.read_unit +
    writes * PRICE.write_unit +
    counted * PRICE.sqs_empty_receive;
  return times * each;
}

/** Requests to KMS for the keys of tables. */
function unwrapsOf(runs: readonly Run[]): number {
  const ofRoles = [...Map.groupBy(runs, ({ service }) => service).values()].map((ofRole) => {
    const [most = 0, ...between] = ofRole.map(({ times }) => times).sort((a, b) => b - a);
    return IDLE_RUN.tables * Math.max(0, Math.min(most, SECONDS / KEY_CACHE_SECONDS) - sum(between));
  });
  return sum(ofRoles);
}

/** Those that are written while nothing happens; one that is written once a day is paid for an hour of it. */
function customMetrics(runs: readonly Run[], channels: readonly string[]): number {
  const series = (Object.keys(METRICS) as MetricName[]).map((name) => {
    const { idle, from, by, only } = METRICS[name];
    const run = runs.find(({ service, asked }) => service === from && asked === '');
    if (idle === undefined || run === undefined || run.environment['POWERTOOLS_METRICS_DISABLED']) return 0;
    if (idle === 'full' && run.environment['MONITORING'] === 'critical') return 0;
    const written =
      only === undefined ? (by.includes('channel') ? channels.length : 1) : Number(channels.includes(only));
    return written * Math.min(1, run.times / HOURS);
  });
  return sum(series);
}

function metricsOf({ Metrics = [] }: { readonly Metrics?: unknown }): number {
  return Math.max(1, (Metrics as readonly Properties[]).filter(({ MetricStat }) => MetricStat !== undefined).length);
}

/** What a stage costs more with a part than without it. */
const PARTS: readonly (readonly [en: string, ja: string, with_it: StageConfigInput, without: StageConfigInput])[] = [
  ['a channel', 'チャネル 1 つ', { ...LEAST, channels: ['webhook', 'slack'] }, LEAST],
  ['the API', 'API', { ...LEAST, api: {} }, LEAST],
  ['newsletters', 'ニュースレター', PLAIN, { ...PLAIN, newsletters: false }],
  ['newsletters as data', 'ニュースレター（データのみ）', { ...LEAST, newsletters: 'data' }, LEAST],
  ['outcomes', '結果の通知', { ...PLAIN, outcomes: true }, PLAIN],
  ['critical monitoring', '監視（critical）', PLAIN, { ...PLAIN, monitoring: 'off' }],
  ['full monitoring, over critical', '監視（full、critical との差）', { ...PLAIN, monitoring: 'full' }, PLAIN],
  ['the console', 'コンソール', EVERYTHING, { ...EVERYTHING, console: 'off' }],
];

const WORDS = {
  en: {
    stages: ['least', 'default', 'everything'],
    total: '**dollars a month**',
    part: 'part',
    adds: 'adds, in dollars a month',
  },
  ja: { stages: ['最小', '既定', 'すべて'], total: '**1 か月のドル**', part: '要素', adds: '追加される 1 か月のドル' },
} as const;

/** The two tables of docs/reference/costs.md. */
export function pricesTable(language: 'en' | 'ja'): string {
  const words = WORDS[language];
  const stages = Object.values(STAGES_AT_REST).map(priceAtRest);
  const items = (stages[0] ?? []).map((first, i) => {
    const cells = stages.map((lines) => lines[i] ?? first);
    return [first[language], ...cells.map(({ count, dollars }) => `${countOf(count)} (${dollars.toFixed(2)})`)];
  });
  const totals = [words.total, ...stages.map((lines) => `**${totalOf(lines).toFixed(2)}**`)];
  const parts = PARTS.map(([en, ja, with_it, without]) => {
    const dollars = totalOf(priceAtRest(with_it)) - totalOf(priceAtRest(without));
    return [{ en, ja }[language], dollars.toFixed(2)];
  });
  return `${markdownTable(['', ...words.stages], [...items, totals])}\n${markdownTable([words.part, words.adds], parts)}`;
}

function countOf(count: number): string {
  return count > 1_000 ? Math.round(count).toLocaleString('en-US') : String(Math.round(count * 10) / 10);
}
