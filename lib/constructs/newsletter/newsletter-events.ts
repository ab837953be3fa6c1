import { Duration } from 'aws-cdk-lib';
import { ConfigurationSet, EmailSendingEvent } from 'aws-cdk-lib/aws-ses';
import type { Construct } from 'constructs';
import type { Deployed, newsletterEventsEnv } from '../../../functions/shared/runtime/newsletter-env.ts';
import { WARMING_KIND } from '../../../src/adapters/dynamodb/schema.ts';
import { SEALED } from '../../../src/core/model/notification.ts';
import { CONFIGURATION_SETS } from '../../../src/core/newsletter/model/provider.ts';
import { jobRetriesJson } from '../../config/settings-json.ts';
import {
  BY_MACHINE,
  BY_PERSON,
  COMPLAINED,
  type MailEventRule,
  MailEvents,
  NO_COMPLAINTS,
} from '../delivery-events/mail-events.ts';
import { allow, on, openRecipients, readSecrets, useKinds, useTableKey } from '../function/permissions.ts';
import { ServiceFunction, SHORT_TIMEOUT } from '../function/service-function.ts';
import { type NewsletterRecipients, recipientEnvironment } from './job-access.ts';
import { newsletterConfigurationSet } from './newsletter-sending.ts';

/** Events of a batch are applied by one write, so large batches cost little. */
const BATCH_SIZE = 1_000;
const BATCH_WINDOW = Duration.seconds(5);

/** The events of SES that are counted. Send says that a call was accepted whose answer got lost. */
const EVENTS = [
  EmailSendingEvent.SEND,
  EmailSendingEvent.DELIVERY,
  EmailSendingEvent.OPEN,
  EmailSendingEvent.CLICK,
  EmailSendingEvent.BOUNCE,
  EmailSendingEvent.COMPLAINT,
  EmailSendingEvent.REJECT,
  EmailSendingEvent.RENDERING_FAILURE,
];

const RULES: readonly MailEventRule[] = [
  {
    id: 'Progress',
    types: ['Send', 'Delivery', 'Open', 'Click', 'Complaint', 'Reject', 'Rendering Failure'],
    detail: { open: BY_PERSON, click: BY_PERSON, ...COMPLAINED },
  },
  { id: 'MachineOpen', types: ['Open'], detail: { open: BY_MACHINE }, says: { machine: true } },
  { id: 'MachineClick', types: ['Click'], detail: { click: BY_MACHINE }, says: { machine: true } },
  ...NO_COMPLAINTS,
  { id: 'Bounce', types: ['Bounce'], bounce: { status: false } },
  { id: 'BounceWithStatus', types: ['Bounce'], bounce: { status: true } },
];

export class NewsletterEvents extends MailEvents {
  readonly handler: ServiceFunction;

  constructor(scope: Construct, id: string, props: NewsletterRecipients) {
    const { config } = props;
    super(scope, id, config, 'newsletter-events', BATCH_WINDOW);
    this.handler = this.eventsFunction(props);
    this.feed(this.handler, BATCH_SIZE);
    const sets = CONFIGURATION_SETS.map(({ suffix, opens, clicks }) => {
      const configurationSetName = `${newsletterConfigurationSet(config)}${suffix}`;
      const set = new ConfigurationSet(this, `ConfigurationSet${suffix}`, { configurationSetName });
      const events = EVENTS.filter(
        (event) => (opens || event !== EmailSendingEvent.OPEN) && (clicks || event !== EmailSendingEvent.CLICK),
      );
      this.publish(`Destination${suffix}`, set, events);
      return configurationSetName;
    });
    const fields = { sent_at: 'mail.timestamp', provider_message_id: 'mail.messageId' };
    this.addRules(RULES, { of: 'a newsletter', sets, tags: ['email_id', 'chunk', 'n'], fields });
  }

  private eventsFunction(props: NewsletterRecipients): ServiceFunction {
    const { config, tables, newsletterTables, encryption } = props;
    const { emails, batches, recipients, members } = newsletterTables;
    return new ServiceFunction(this, 'Handler', {
      config,
      name: 'newsletter-events',
      description: 'Counts what SES tells of newsletters, and suppresses whom it cannot reach',
      timeout: SHORT_TIMEOUT,
      environment: {
        ...recipientEnvironment(props),
        PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
        NEWSLETTER_RETRIES: jobRetriesJson(config),
        RECIPIENT_HASH_SECRET: encryption.recipientHashSecret.secretArn,
      } satisfies Deployed<typeof newsletterEventsEnv>,
      permissions: [
        // Too many bounces or complaints pause an email; mails that are all refused late make it hold.
        on(emails, 'GetItem', 'UpdateItem'),
        allow(['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:UpdateItem'], [batches.tableArn, recipients.tableArn]),
        on(members, 'BatchGetItem', 'UpdateItem'),
        useKinds(tables.pipelineState, WARMING_KIND),
        useTableKey(encryption.dataKey),
        ...openRecipients(encryption, tables, SEALED.members),
        ...readSecrets(encryption, encryption.recipientHashSecret),
      ],
    });
  }
}
