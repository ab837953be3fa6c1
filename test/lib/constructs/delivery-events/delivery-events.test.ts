import { Match, type Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { resourcesOf, templateOf } from '../../../support/lib/synthesize.ts';

const NAMED = {
  'notification-retry.configurationSet': 'theirs',
  'notification-retry.integrationConfigurationSets': '["shop","theirs"]',
};

describe('delivery events', () => {
  let template: Template;
  beforeAll(() => {
    template = templateOf({ stage: 'dev' });
  });

  it('come from a configuration set of our own, which e-mails name', () => {
    template.hasResourceProperties('AWS::SES::ConfigurationSet', { Name: 'notification-retry-dev' });
    template.hasResourceProperties('AWS::SES::ConfigurationSetEventDestination', {
      ConfigurationSetName: { Ref: Match.stringLikeRegexp('ConfigurationSet') },
      EventDestination: {
        Enabled: true,
        EventBridgeDestination: { EventBusArn: { 'Fn::Join': ['', Match.arrayWith([':event-bus/default'])] } },
        MatchingEventTypes: ['delivery', 'open', 'bounce', 'complaint', 'reject', 'renderingFailure'],
      },
    });
    template.hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: { SES_CONFIGURATION_SET: 'notification-retry-dev' } },
    });
  });

  it('come from the sets that the configuration names, which get a destination and are not changed otherwise', () => {
    const named = templateOf({ stage: 'dev', ...NAMED });

    // The sets of newsletters, one per way to track, are always the stack's own.
    named.resourceCountIs('AWS::SES::ConfigurationSet', 4);
    const destinations = resourcesOf(named, 'AWS::SES::ConfigurationSetEventDestination');
    const names = destinations.map(({ properties }) => properties['ConfigurationSetName']);
    expect(names.filter((name) => typeof name === 'string')).toEqual(['theirs', 'shop']);
    for (const { pattern } of rulesOf(named)) {
      expect(pattern).toMatchObject({ detail: { mail: { tags: { 'ses:configuration-set': ['theirs', 'shop'] } } } });
    }
    named.hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: { SES_CONFIGURATION_SET: 'theirs' } },
    });
  });

  it('pass only for our own mails, each kind by one rule', () => {
    const rules = rulesOf(template);

    expect(rules.flatMap(({ pattern }) => Object(pattern).detail.eventType)).toEqual(
      expect.arrayContaining(['Delivery', 'Open', 'Complaint', 'Bounce', 'Reject', 'Rendering Failure']),
    );
    const tags = { 'ses:configuration-set': ['notification-retry-dev'], log_id: [{ exists: true }] };
    for (const { pattern } of rules) expect(pattern).toMatchObject({ source: ['aws.ses'], detail: { mail: { tags } } });
  });

  it('leave recipient, subject and diagnostic text behind on the way into the queue', () => {
    const paths = rulesOf(template).flatMap(({ paths }) => Object.values(paths));

    expect(new Set(paths)).toEqual(
      new Set([
        '$.time',
        '$.detail.eventType',
        '$.detail.delivery.timestamp',
        '$.detail.open.timestamp',
        '$.detail.complaint.timestamp',
        '$.detail.bounce.timestamp',
        '$.detail.bounce.bounceType',
        '$.detail.bounce.bounceSubType',
        '$.detail.bounce.bouncedRecipients[0].status',
        '$.detail.mail.tags.log_id[0]',
        '$.detail.mail.tags.attempt[0]',
        '$.detail.mail.messageId',
      ]),
    );
  });

  it('wait in a queue with a dead-letter queue of its own, and each fails by itself', () => {
    const { id, properties } = queueNamed(template, 'notification-retry-dev-delivery-events');
    const dead = queueNamed(template, 'notification-retry-dev-delivery-events-dead-letter');

    expect(properties).toMatchObject({
      SqsManagedSseEnabled: true,
      RedrivePolicy: { deadLetterTargetArn: { 'Fn::GetAtt': [dead.id, 'Arn'] } },
    });
    expect(properties['VisibilityTimeout']).toBeGreaterThanOrEqual(6 * 60 + 1);
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      EventSourceArn: { 'Fn::GetAtt': [id, 'Arn'] },
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    });
  });
});

/** The rules for events of notifications, with the paths of the fields that they pass on. */
function rulesOf(template: Template) {
  return resourcesOf(template, 'AWS::Events::Rule').flatMap(({ properties }) => {
    const { EventPattern: pattern, Targets: targets } = properties;
    if (pattern === undefined || JSON.stringify(pattern).includes('-newsletters')) return [];
    const [target] = Array.isArray(targets) ? targets : [];
    const paths: Record<string, string> = Object(Object(target)['InputTransformer'])['InputPathsMap'];
    return [{ pattern, paths }];
  });
}

function queueNamed(template: Template, name: string) {
  const queue = resourcesOf(template, 'AWS::SQS::Queue').find(({ properties }) => properties['QueueName'] === name);
  if (queue === undefined) throw new Error(`no queue is named ${name}`);
  return queue;
}
