import { Annotations } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { PostingEnv, SenderEnv } from '../functions/shared/runtime/env.ts';
import type { Channel } from '../src/core/model/channels.ts';
import { parseStageConfig, type StageConfig, type StageConfigInput } from './config/stage-config.ts';
import { Console } from './constructs/console/console.ts';
import { DeliveryEvents } from './constructs/delivery-events/delivery-events.ts';
import { ServiceFunction } from './constructs/function/service-function.ts';
import { DueIndexer } from './constructs/indexing/due-indexer.ts';
import { Reconciler } from './constructs/indexing/reconciler.ts';
import { IntakeApi } from './constructs/intake/intake-api.ts';
import { ChannelLanes, type ChannelLanesProps } from './constructs/lanes/channel-lanes.ts';
import { accountPermission, emailEnvironment, emailPermission } from './constructs/lanes/email-provider.ts';
import { type Channels, laneUrls } from './constructs/lanes/lane-queues.ts';
import { Alarms } from './constructs/monitoring/alarm-catalogue.ts';
import { Alerts } from './constructs/monitoring/alerts.ts';
import { StageDashboard } from './constructs/monitoring/dashboard.ts';
import { Monitor } from './constructs/monitoring/monitor.ts';
import { NewsletterEvents } from './constructs/newsletter/newsletter-events.ts';
import { NewsletterJob } from './constructs/newsletter/newsletter-job.ts';
import { NewsletterQueues } from './constructs/newsletter/newsletter-queues.ts';
import { Outputs } from './constructs/outputs.ts';
import { Encryption } from './constructs/storage/encryption.ts';
import { NewsletterTables } from './constructs/storage/newsletter-tables.ts';
import { NotificationTables } from './constructs/storage/notification-tables.ts';
import { Sweep } from './constructs/sweep/sweep.ts';

/**
 * The whole service, for any stack: tables, keys, four channels, sweep, due-indexer and intake API. Producers write to
 * `tables.log`; operators find everything in the stack's outputs. A stack can hold one NotificationRetry. An account
 * and region can hold one per stage, because the queues are named after the stage.
 *
 * @example new NotificationRetry(this, 'Retry', { stage: 'prod', senderAddress: 'noreply@mail.your-domain.example' })
 */
export class NotificationRetry extends Construct {
  readonly config: StageConfig;
  readonly encryption: Encryption;
  readonly tables: NotificationTables;
  readonly newsletterTables: NewsletterTables;
  readonly channels: Channels;
  readonly sweep: Sweep;
  readonly dueIndexer: DueIndexer;
  readonly reconciler: Reconciler;
  readonly deliveryEvents: DeliveryEvents;
  readonly alerts: Alerts;
  readonly monitor: Monitor;
  readonly api: IntakeApi;
  readonly newsletterQueues: NewsletterQueues;
  readonly newsletterJob: NewsletterJob;
  readonly newsletterEvents: NewsletterEvents;
  /** Absent unless the stage switches it on. */
  readonly console?: Console;

  /** @throws StageConfigError that names every property that is missing, unknown or out of range */
  constructor(scope: Construct, id: string, props: StageConfigInput) {
    super(scope, id);
    const config = parseStageConfig(props, (path) => [`${this.node.path}: `, path].join(''));
    this.config = config;
    this.encryption = new Encryption(this, 'Encryption', config);
    const { encryption } = this;
    this.tables = new NotificationTables(this, 'Tables', { config, key: encryption.dataKey });
    const { tables } = this;
    this.newsletterTables = new NewsletterTables(this, 'NewsletterTables', { config, key: encryption.dataKey });

    const lanes = (id: string, channel: Channel, provider?: ChannelLanesProps['provider']) =>
      new ChannelLanes(this, id, {
        config,
        channel,
        tables,
        encryption,
        laneUrls: () => laneUrls(this.channels),
        ...(provider && { provider }),
      });
    const ports = { WEBHOOK_PORTS: [443, ...config.webhookPorts].join(',') } satisfies Omit<
      PostingEnv,
      keyof SenderEnv
    >;
    const posting = { environment: ports };
    this.channels = {
      email: lanes('Email', 'email', {
        environment: emailEnvironment(config),
        permissions: [emailPermission(this, config), accountPermission()],
      }),
      slack: lanes('Slack', 'slack', posting),
      teams: lanes('Teams', 'teams', posting),
      webhook: lanes('Webhook', 'webhook', posting),
    };
    const { channels } = this;
    for (const from of Object.values(channels)) {
      for (const to of Object.values(channels)) if (to !== from) from.allowFailoverTo(to);
    }
    this.sweep = new Sweep(this, 'Sweep', { config, tables, encryption, channels });
    this.dueIndexer = new DueIndexer(this, 'DueIndexer', { config, tables, encryption });
    this.reconciler = new Reconciler(this, 'Reconciler', { config, tables, encryption });
    this.deliveryEvents = new DeliveryEvents(this, 'DeliveryEvents', { config, tables, encryption, channels });
    this.alerts = new Alerts(this, 'Alerts', config);
    this.monitor = new Monitor(this, 'Monitoring', { config, tables, encryption, alerts: this.alerts });
    this.newsletterQueues = new NewsletterQueues(this, 'NewsletterQueues', config);
    this.api = new IntakeApi(this, 'IntakeApi', {
      config,
      tables,
      newsletterTables: this.newsletterTables,
      newsletterQueues: this.newsletterQueues,
      encryption,
      channels,
    });
    this.newsletterJob = new NewsletterJob(this, 'NewsletterJob', {
      config,
      tables,
      newsletterTables: this.newsletterTables,
      encryption,
      queues: this.newsletterQueues,
      apiUrl: this.api.url,
    });
    this.newsletterEvents = new NewsletterEvents(this, 'NewsletterEvents', {
      config,
      tables,
      newsletterTables: this.newsletterTables,
      encryption,
    });
    if (config.console !== 'off') {
      this.console = new Console(this, 'Console', {
        config,
        settings: config.console,
        tables,
        newsletterTables: this.newsletterTables,
        newsletterQueues: this.newsletterQueues,
        encryption,
        channels,
      });
    }
    this.addMonitoring(config);
    new Outputs(this, 'Outputs', {
      config,
      tables,
      newsletters: this.newsletterTables,
      newsletterQueues: this.newsletterQueues,
      channels,
      sweep: this.sweep,
      dueIndexer: this.dueIndexer,
      reconciler: this.reconciler,
      deliveryEvents: this.deliveryEvents,
      encryption,
      alerts: this.alerts,
      api: this.api,
      ...(this.console && { console: this.console }),
    });

    if (/[@.]example(\.(com|net|org))?$/.test(config.senderAddress)) {
      Annotations.of(this).addWarningV2(
        'notification-retry:sender-address',
        'senderAddress is a placeholder that SES never sends from: set an address that is verified in SES',
      );
    }
  }

  /** Adds the alarms and the dashboard. They watch every function, so the functions must be made before. */
  private addMonitoring(config: StageConfig): void {
    const functions = this.node.findAll().filter((one) => one instanceof ServiceFunction);
    const newsletterFailures = { job: this.newsletterQueues.failures, events: this.newsletterEvents.failures };
    const subjects = { config, channels: this.channels, functions, indexing: this.dueIndexer, newsletterFailures };
    const alarms = new Alarms(this, 'Alarms', { ...subjects, topic: this.alerts.topic });
    new StageDashboard(this, 'Overview', { ...subjects, alarms: alarms.all });
  }
}
