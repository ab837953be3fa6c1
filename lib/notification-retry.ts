import { Annotations, Stack } from 'aws-cdk-lib';
import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { Deployed, postingEnv, senderEnv } from '../functions/shared/runtime/env.ts';
import { CHANNELS, type Channel, perChannel } from '../src/core/model/channels.ts';
import { monitoringOf, retains } from './config/parts.ts';
import { parseStageConfig, type StageConfig, type StageConfigInput } from './config/stage-config.ts';
import { Console } from './constructs/console/console.ts';
import { DeliveryEvents } from './constructs/delivery-events/delivery-events.ts';
import { ServiceFunction } from './constructs/function/service-function.ts';
import { DueIndexer, Reconciler } from './constructs/indexing/due-indexer.ts';
import { IntakeApi } from './constructs/intake/intake-api.ts';
import { ChannelLanes, type Channels, laneUrls } from './constructs/lanes/channel-lanes.ts';
import { accountPermission, emailEnvironment, emailPermission } from './constructs/lanes/email-provider.ts';
import { Alarms } from './constructs/monitoring/alarm-catalogue.ts';
import { Alerts } from './constructs/monitoring/alerts.ts';
import { StageDashboard } from './constructs/monitoring/dashboard.ts';
import { Monitor } from './constructs/monitoring/monitor.ts';
import { NewsletterEvents } from './constructs/newsletter/newsletter-events.ts';
import { NewsletterJob } from './constructs/newsletter/newsletter-job.ts';
import { NewsletterQueues } from './constructs/newsletter/newsletter-queues.ts';
import { Outcomes } from './constructs/outcomes/outcomes.ts';
import { Outputs } from './constructs/outputs.ts';
import { describeStage, partStack, warnOfManyResources, warnOfRegion } from './constructs/platform/deployed-stack.ts';
import {
  grantAll,
  handOverRights,
  type OperatorRole,
  operatorRights,
  outcomeRights,
} from './constructs/platform/grants.ts';
import { bringPlatform, madeByCdk } from './constructs/platform/platform.ts';
import type { NewsletterStorage, Stage } from './constructs/stage.ts';
import { Encryption } from './constructs/storage/encryption.ts';
import { NewsletterTables, NotificationTables } from './constructs/storage/tables.ts';
import { Sweep } from './constructs/sweep/sweep.ts';
import { VerificationJob } from './constructs/verification/verification.ts';

/** The paths of the channels in the construct tree, from which CloudFormation's ids come. */
const CONSTRUCTS = perChannel((channel) => channel.charAt(0).toUpperCase() + channel.slice(1));

/**
 * The whole service, for any stack: tables, keys, channels, sweep, due-indexer and intake API, as far
 * as the stage takes them. Producers write to
 * `tables.log`; operators find everything in the stack's outputs. A stack can hold one NotificationRetry. An account
 * and region can hold one per stage, because the queues are named after the stage.
 *
 * @example new NotificationRetry(this, 'Retry', { stage: 'prod', senderAddress: 'noreply@mail.your-domain.example' })
 */
export class NotificationRetry extends Construct {
  readonly config: StageConfig;
  readonly encryption: Encryption;
  readonly tables: NotificationTables;
  // What follows is absent where the stage does without it.
  readonly newsletterTables?: NewsletterTables;
  readonly channels: Channels;
  readonly sweep: Sweep;
  readonly dueIndexer: DueIndexer;
  readonly reconciler: Reconciler;
  readonly deliveryEvents?: DeliveryEvents;
  readonly alerts?: Alerts;
  readonly monitor?: Monitor;
  readonly api?: IntakeApi;
  newsletterQueues?: NewsletterQueues;
  readonly newsletterJob?: NewsletterJob;
  readonly newsletterEvents?: NewsletterEvents;
  readonly verification?: VerificationJob;
  readonly console?: Console;
  /** Its bus takes rules of producers. */
  readonly outcomes?: Outcomes;
  readonly #parts = new Map<'Console' | 'Monitoring', Stack>();

  /** @throws StageConfigError that names every property that is missing, unknown or out of range */
  constructor(scope: Construct, id: string, props: StageConfigInput) {
    super(scope, id);
    const config = parseStageConfig(props, (path) => [`${this.node.path}: `, path].join(''));
    this.config = config;
    const encryption = new Encryption(this, 'Encryption', config);
    this.encryption = encryption;
    const tables = new NotificationTables(this, 'Tables', { config, key: encryption.dataKey });
    this.tables = tables;
    if (config.newsletters !== false) {
      this.newsletterTables = new NewsletterTables(this, 'NewsletterTables', { config, key: encryption.dataKey });
    }
    this.channels = this.makeChannels(config);
    const { channels } = this;
    const newsletters = this.newsletterStorage(config);
    const stage: Stage = { config, tables, encryption, channels, newsletters };
    this.sweep = new Sweep(this, 'Sweep', stage);
    this.dueIndexer = new DueIndexer(this, 'DueIndexer', stage);
    this.reconciler = new Reconciler(this, 'Reconciler', stage);
    const { email } = channels;
    if (email) this.deliveryEvents = new DeliveryEvents(this, 'DeliveryEvents', { ...stage, email });
    if (monitoringOf(config) !== 'off') {
      this.alerts = new Alerts(this, 'Alerts', config);
      this.monitor = new Monitor(this.stackOf('Monitoring'), 'Monitoring', { ...stage, alerts: this.alerts });
    }
    if (config.api !== false) this.api = new IntakeApi(this, 'IntakeApi', stage);
    if (newsletters && this.api) {
      const sending = { config, tables, encryption, ...newsletters };
      this.newsletterJob = new NewsletterJob(this, 'NewsletterJob', { ...sending, apiUrl: this.api.url });
      this.newsletterEvents = new NewsletterEvents(this, 'NewsletterEvents', sending);
    }
    if (config.console !== 'off' || config.verifySchedule !== 'off') {
      const { newsletterTables } = this;
      this.verification = new VerificationJob(this, 'Verification', { ...stage, newsletterTables });
    }
    if (config.console !== 'off' && this.verification) {
      const verify = this.verification.function;
      // People who sign in are data: they stay where they are.
      const users = config.stackPerPart ? new Construct(this, 'Console') : undefined;
      this.console = new Console(this.stackOf('Console'), 'Console', {
        ...stage,
        settings: config.console,
        verify,
        users,
      });
    }
    if (config.outcomes) this.outcomes = new Outcomes(this, 'Outcomes', stage);
    this.addMonitoring(config);
    new Outputs(this, 'Outputs', this);
    describeStage(this, config);
    const parts = [...this.#parts.values()];
    bringPlatform(config, this, ...parts, ...(this.console && parts.length === 0 ? madeByCdk(this.console) : []));
    warnOfManyResources(Stack.of(this));
    this.warn(config);
  }

  /** To a writer of rows: the columns of the table document, the key of the tables, and no deletion. */
  grantHandOver(grantee: IGrantable): Grant {
    return grantAll(grantee, handOverRights(this));
  }

  /**
   * To whoever follows what became of notifications: state without content and recipient, records with what providers
   * answered, which may name the recipient, and rules on the outcomes' bus.
   */
  grantReadOutcomes(grantee: IGrantable): Grant {
    return grantAll(grantee, outcomeRights(this));
  }

  /**
   * To people who use `ops`: a viewer changes nothing and opens no sealed recipient. Its grant reads subjects and texts,
   * and what providers answered, which may name recipients.
   */
  grantOperate(grantee: IGrantable, role: OperatorRole = 'operator'): Grant {
    return grantAll(grantee, operatorRights(this, role));
  }

  /** Where a part is made. */
  private stackOf(part: 'Console' | 'Monitoring'): Construct {
    if (!this.config.stackPerPart) return this;
    const stack = this.#parts.get(part) ?? partStack(this, part, this.config);
    this.#parts.set(part, stack);
    return stack;
  }

  private makeChannels(config: StageConfig): Channels {
    const { tables, encryption } = this;
    const ports = { WEBHOOK_PORTS: [443, ...config.webhookPorts].join(',') } satisfies Omit<
      Deployed<typeof postingEnv>,
      keyof Deployed<typeof senderEnv>
    >;
    const posting = { environment: ports };
    const email = () => ({
      environment: emailEnvironment(config),
      permissions: [emailPermission(this, config), accountPermission()],
    });
    const made: { [C in Channel]?: ChannelLanes } = {};
    for (const channel of CHANNELS.filter((one) => config.channels.includes(one))) {
      made[channel] = new ChannelLanes(this, CONSTRUCTS[channel], {
        config,
        channel,
        tables,
        encryption,
        laneUrls: () => laneUrls(made),
        provider: channel === 'email' ? email() : posting,
      });
    }
    const all = Object.values(made);
    for (const from of all) for (const to of all) if (to !== from) from.allowFailoverTo(to);
    return made;
  }

  private newsletterStorage(config: StageConfig): NewsletterStorage | undefined {
    if (config.newsletters !== true || this.newsletterTables === undefined) return undefined;
    this.newsletterQueues = new NewsletterQueues(this, 'NewsletterQueues', config);
    return { newsletterTables: this.newsletterTables, newsletterQueues: this.newsletterQueues };
  }

  /** Adds the alarms and the dashboard. They watch every function, so the functions must be made before. */
  private addMonitoring(config: StageConfig): void {
    if (this.alerts === undefined) return;
    const functions = [this, ...this.#parts.values()].flatMap(({ node }) =>
      node.findAll().filter((one) => one instanceof ServiceFunction),
    );
    const newsletterFailures = this.newsletterQueues &&
      this.newsletterEvents && { job: this.newsletterQueues.failures, events: this.newsletterEvents.failures };
    const subjects = {
      config,
      channels: this.channels,
      functions,
      indexing: this.dueIndexer,
      newsletterFailures,
      outcomes: this.outcomes,
    };
    const alarms = new Alarms(this.stackOf('Monitoring'), 'Alarms', { ...subjects, topic: this.alerts.topic });
    if (monitoringOf(config) === 'full')
      new StageDashboard(this.stackOf('Monitoring'), 'Overview', { ...subjects, alarms: alarms.all });
  }

  private warn(config: StageConfig): void {
    warnOfRegion(this, config);
    const { senderAddress = '', channels, newsletters, api } = config;
    if (retains(config) && newsletters === true && api !== false && api.domain === undefined) {
      Annotations.of(this).addWarningV2(
        'notification-retry:api-domain',
        'unsubscribe links of newsletters lead to a name of API Gateway that goes with the API: set api.domain',
      );
    }
    if (channels.includes('email') && /[@.]example(\.(com|net|org))?$/.test(senderAddress)) {
      Annotations.of(this).addWarningV2(
        'notification-retry:sender-address',
        'senderAddress is a placeholder that SES never sends from: set an address that is verified in SES',
      );
    }
  }
}
