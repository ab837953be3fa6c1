import { Duration, Stack } from 'aws-cdk-lib';
import { ConfigurationSet, EmailSendingEvent } from 'aws-cdk-lib/aws-ses';
import type { Construct } from 'constructs';
import type { Deployed, deliveryEventsEnv } from '../../../functions/shared/runtime/env.ts';
import { retryPolicyJson } from '../../config/settings-json.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import { allow, on, useTableKey } from '../function/permissions.ts';
import { ServiceFunction, SHORT_TIMEOUT } from '../function/service-function.ts';
import { type ChannelLanes, laneUrls } from '../lanes/channel-lanes.ts';
import { configurationSetName } from '../lanes/email-provider.ts';
import type { StageStorage } from '../storage/tables.ts';
import { BY_MACHINE, BY_PERSON, COMPLAINED, type MailEventRule, MailEvents, NO_COMPLAINTS } from './mail-events.ts';

const BATCH_WINDOW = Duration.seconds(1);

/** The events that the function applies. SES retries delayed mails itself, and its answer says that it took a mail. */
const EVENTS = [
  EmailSendingEvent.DELIVERY,
  EmailSendingEvent.OPEN,
  EmailSendingEvent.BOUNCE,
  EmailSendingEvent.COMPLAINT,
  EmailSendingEvent.REJECT,
  EmailSendingEvent.RENDERING_FAILURE,
];

/** By the complete set of their fields, which src/adapters/email/delivery-event-message.ts reads. */
const RULES: readonly MailEventRule[] = [
  { id: 'Delivery', types: ['Delivery'], at: '$.detail.delivery.timestamp' },
  { id: 'Open', types: ['Open'], at: '$.detail.open.timestamp', detail: { open: BY_PERSON } },
  {
    id: 'MachineOpen',
    types: ['Open'],
    at: '$.detail.open.timestamp',
    detail: { open: BY_MACHINE },
    says: { machine: true },
  },
  { id: 'Complaint', types: ['Complaint'], at: '$.detail.complaint.timestamp', detail: COMPLAINED },
  ...NO_COMPLAINTS,
  { id: 'Bounce', types: ['Bounce'], at: '$.detail.bounce.timestamp', bounce: { status: false } },
  { id: 'BounceWithStatus', types: ['Bounce'], at: '$.detail.bounce.timestamp', bounce: { status: true } },
  { id: 'Failure', types: ['Reject', 'Rendering Failure'] },
];

interface DeliveryEventsProps extends StageStorage {
  readonly email: ChannelLanes;
}

export class DeliveryEvents extends MailEvents {
  readonly handler: ServiceFunction;

  constructor(scope: Construct, id: string, props: DeliveryEventsProps) {
    const { config } = props;
    super(scope, id, config, 'delivery-events', BATCH_WINDOW);
    this.handler = this.eventsFunction(props);
    this.feed(this.handler, 10);
    const sets = [...new Set([configurationSetName(config), ...config.integrationConfigurationSets])];
    for (const set of sets) this.publish(`Destination-${set}`, this.setOf(set, config), EVENTS);
    const fields = { provider_message_id: 'mail.messageId' };
    this.addRules(RULES, { of: 'an e-mail', sets, tags: ['log_id', 'attempt'], fields });
  }

  /** A set that the configuration names exists already and is not changed otherwise. */
  private setOf(name: string, config: StageConfig) {
    return config.configurationSet === undefined && name === configurationSetName(config)
      ? new ConfigurationSet(this, 'ConfigurationSet', { configurationSetName: name })
      : ConfigurationSet.fromConfigurationSetName(this, `Set-${name}`, name);
  }

  private eventsFunction({ config, tables, encryption, email }: DeliveryEventsProps): ServiceFunction {
    return new ServiceFunction(this, 'Handler', {
      config,
      name: 'delivery-events',
      description: 'Applies what SES tells of e-mails after it took them',
      timeout: SHORT_TIMEOUT,
      environment: {
        NOTIFICATION_LOG_TABLE: tables.log.tableName,
        NOTIFICATION_RETRY_LOG_TABLE: tables.retryLog.tableName,
        LANE_QUEUES: Stack.of(this).toJsonString(laneUrls({ email })),
        DELIVERY_EVENTS_QUEUE: this.queue.queueUrl,
        RETRY_POLICY: retryPolicyJson(config),
      } satisfies Deployed<typeof deliveryEventsEnv>,
      permissions: [
        on(tables.log, 'BatchGetItem', 'PartiQLUpdate', 'UpdateItem'),
        on(tables.retryLog, 'GetItem', 'PartiQLInsert', 'PutItem'),
        useTableKey(encryption.dataKey),
        // A bounced notification's next attempt is queued at once, if it is near.
        allow(['sqs:SendMessage'], [email.express.queueArn, email.standard.queueArn]),
      ],
    });
  }
}
