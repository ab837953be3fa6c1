import { NestedStack, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { describe, expect, it } from 'vitest';
import { NotificationRetry } from '../../lib/notification-retry.ts';
import { wantedStage } from '../../src/cli/commands/status/wanted-stage.ts';
import { STAGES } from '../support/lib/stages.ts';
import { appOf, resourcesOf, templateOf } from '../support/lib/synthesize.ts';

const SENDER = 'noreply@mail.your-domain.jp';

describe('a stage in a nested stack', () => {
  const top = new Stack(appOf(), 'Theirs', { env: { account: '111122223333', region: 'ap-northeast-1' } });
  const nested = new NestedStack(new NestedStack(top, 'Platform'), 'Messaging');
  new NotificationRetry(nested, 'Retry', { stage: 'test', senderAddress: SENDER, monitoring: 'full' });
  const deployed = Template.fromStack(top);
  const inner = Template.fromStack(nested);

  it('has its outputs on the stack that is deployed, where commands look for them', () => {
    const names = Object.keys(templateOf(STAGES.default).findOutputs('*'));
    expect(names.length).toBeGreaterThan(30);
    expect(Object.keys(deployed.findOutputs('*'))).toEqual(expect.arrayContaining(names));
    const queues = JSON.stringify(deployed.findOutputs('LaneQueues')['LaneQueues']);
    expect(queues).toMatch(/WebhookExpress.*Outputs|Outputs.*WebhookExpress/);
  });

  it('tells its functions the name of that stack', () => {
    const names = resourcesOf(inner, 'AWS::Lambda::Function').flatMap(({ properties }) => {
      const { STACK_NAME } = Object(properties['Environment']).Variables;
      return STACK_NAME === undefined ? [] : [STACK_NAME];
    });
    expect(names).toEqual(['Theirs']);
  });
});

describe('the template of a stage that is configured in code', () => {
  const read = (given: object) => {
    const stack = new Stack(appOf(), 'Messaging');
    new NotificationRetry(stack, 'Retry', {
      ...{ stage: 'live', senderAddress: SENDER, channels: ['email', 'webhook'], outcomes: true, retain: true },
      ...{ newsletter: { senders: ['*@news.your-domain.jp'] }, reservedConcurrency: { accountLimit: 1_000 } },
      alarmTopicArn: new Topic(stack, 'Topic').topicArn,
      ...given,
    });
    const text = JSON.stringify(Template.fromStack(stack).toJSON());
    return wantedStage({ template: 'cdk.out/Messaging.template.json' }, () => text);
  };

  it('says to the preflight what cdk.json would say, and what only the deployment knows', () => {
    expect(read({ encryptionKeyArn: 'arn:aws:kms:eu-west-1:111122223333:key/1234' })).toEqual({
      stack: 'Messaging',
      sender: SENDER,
      wanted: {
        stage: 'live',
        channels: ['email', 'webhook'],
        api: true,
        newsletters: true,
        newsletter_senders: ['*@news.your-domain.jp'],
        outcomes: true,
        monitoring: true,
        console: false,
        retain: true,
        account_limit: 1_000,
        vpc: undefined,
        encryptionKeyArn: 'arn:aws:kms:eu-west-1:111122223333:key/1234',
        alarmTopicArn: null,
      },
    });
    expect(read({ newsletters: 'data', api: false, monitoring: 'off' }).wanted).toMatchObject({
      newsletters: 'data',
      api: false,
      monitoring: false,
    });
  });

  it('stands for all that the command line could say', () => {
    const context = { 'notification-retry.api': 'false' };
    expect(() => wantedStage({ template: 'x', context }, () => '{}')).toThrow('give -c to cdk synth');
    expect(() => wantedStage({ template: 'x' }, () => '{}')).toThrow('x is no template with a NotificationRetry');
  });
});
