import { EventField, RuleTargetInput } from 'aws-cdk-lib/aws-events';

/** One EventBridge rule: events of SES that carry the same things in the same places. */
export interface DeliveryEventRule {
  readonly id: string;
  readonly pattern: Readonly<Record<string, unknown>>;
  readonly message: RuleTargetInput;
}

/**
 * SES's events name the recipient and quote the subject, and nothing in a queue may (design §7.9). So the rules pick out what
 * the function needs, and the events themselves never get to it. An input transformer has no notion of "if it is there":
 * hence a rule for each set of fields that is always complete. What they pick is read by
 * src/adapters/email/delivery-event-message.ts.
 *
 * Only events of our own mails pass: those with our tags, of these configuration sets.
 */
export function deliveryEventRules(configurationSets: readonly string[]): DeliveryEventRule[] {
  const rule = (
    id: string,
    eventType: readonly string[],
    at: string,
    bounce?: { readonly status: boolean },
  ): DeliveryEventRule => ({
    id,
    pattern: {
      source: ['aws.ses'],
      detail: {
        eventType,
        mail: {
          tags: {
            'ses:configuration-set': configurationSets,
            log_id: [{ exists: true }],
            attempt: [{ exists: true }],
          },
        },
        ...(bounce && { bounce: { bouncedRecipients: { status: [{ exists: bounce.status }] } } }),
      },
    },
    message: RuleTargetInput.fromObject({
      version: 1,
      event: field('eventType'),
      at: EventField.fromPath(at),
      log_id: field('mail.tags.log_id[0]'),
      attempt: field('mail.tags.attempt[0]'),
      provider_message_id: field('mail.messageId'),
      ...(bounce && {
        bounce: {
          type: field('bounce.bounceType'),
          sub_type: field('bounce.bounceSubType'),
          ...(bounce.status && { status: field('bounce.bouncedRecipients[0].status') }),
        },
      }),
    }),
  });
  return [
    rule('Delivery', ['Delivery'], '$.detail.delivery.timestamp'),
    rule('Open', ['Open'], '$.detail.open.timestamp'),
    rule('Complaint', ['Complaint'], '$.detail.complaint.timestamp'),
    rule('Bounce', ['Bounce'], '$.detail.bounce.timestamp', { status: false }),
    rule('BounceWithStatus', ['Bounce'], '$.detail.bounce.timestamp', { status: true }),
    rule('Failure', ['Reject', 'Rendering Failure'], '$.time'),
  ];
}

function field(path: string): string {
  return EventField.fromPath(`$.detail.${path}`);
}
