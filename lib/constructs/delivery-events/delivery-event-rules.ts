import { EventField, RuleTargetInput } from 'aws-cdk-lib/aws-events';

/** An EventBridge rule for those events of SES that have the same fields. */
export interface DeliveryEventRule {
  readonly id: string;
  readonly pattern: Readonly<Record<string, unknown>>;
  readonly message: RuleTargetInput;
}

/**
 * SES's events contain the recipient and the subject, which no queue may contain (docs/architecture.md, invariant 9).
 * So the rules pick the fields that the function needs, and the function never gets the event. An input transformer
 * cannot pick a field only if it exists, so there is one rule for each complete set of fields.
 * src/adapters/email/delivery-event-message.ts reads the fields.
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
