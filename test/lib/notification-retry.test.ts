import { Stack, Validations } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it } from 'vitest';
import { NotificationRetry } from '../../lib/notification-retry.ts';
import { PAIRS, STAGES } from '../support/lib/stages.ts';
import { appOf, FUNCTIONS, stackOf } from '../support/lib/synthesize.ts';

const sender = 'noreply@mail.your-domain.jp';

describe('NotificationRetry in a stack of another team', () => {
  it('needs only a stage and a sender', () => {
    const stack = new Stack(appOf(), 'Theirs', { env: { account: '111122223333', region: 'ap-northeast-1' } });
    const retry = new NotificationRetry(stack, 'Retry', { stage: 'test', senderAddress: sender });

    const template = Template.fromStack(stack);
    template.resourceCountIs('AWS::Lambda::Function', FUNCTIONS.length);
    template.hasOutput('NotificationLogTable', { Value: stack.resolve(retry.tables.log.tableName) });
    template.hasOutput('DispatcherFunction', { Value: stack.resolve(retry.sweep.dispatcher.functionName) });
    expect(Object.keys(retry.channels)).toEqual(['email', 'slack', 'teams', 'webhook']);
  });

  it('refuses a wrong configuration with its own path and every fault', () => {
    const stack = new Stack(appOf(), 'Theirs');

    expect(() => new NotificationRetry(stack, 'Retry', { stage: 'Test', senderAddress: '' })).toThrow(
      /Theirs\/Retry: stage must be(.|\n)*Theirs\/Retry: senderAddress must be/,
    );
  });

  it.each([
    ['noreply@example.com', 1],
    [sender, 0],
  ])('warns of a sender that SES cannot send from: %s', (senderAddress, warnings) => {
    const stack = new Stack(appOf(), 'Theirs');
    const retry = new NotificationRetry(stack, 'Retry', { stage: 'test', senderAddress });

    expect(retry.node.metadata.filter(({ type }) => type === 'aws:cdk:warning')).toHaveLength(warnings);
  });
});

describe("cdk-nag's AwsSolutions rules", () => {
  it.each(['dev', 'prod'])('find nothing in %s without an acknowledgement and its reason', (stage) => {
    const stack = stackOf({ stage });

    expect(new AwsSolutionsChecks().validateScope(stack.node.root).violations).toEqual([]);
  });

  it.each([
    ...Object.entries(STAGES),
    ...PAIRS.map((context) => [JSON.stringify(context).replaceAll('notification-retry.', ''), context] as const),
  ])('find nothing in the stage with the parts: %s', (_, context) => {
    expect(new AwsSolutionsChecks().validateScope(stackOf(context).node.root).violations).toEqual([]);
  });

  it('find nothing in the stack of another team either', () => {
    const stack = new Stack(appOf(), 'Theirs', { env: { account: '111122223333', region: 'ap-northeast-1' } });
    new NotificationRetry(stack, 'Retry', { stage: 'test', senderAddress: sender });

    expect(new AwsSolutionsChecks().validateScope(stack).violations).toEqual([]);
  });

  it('run at synthesis in an app that adds them', () => {
    const app = appOf();
    const checks = new AwsSolutionsChecks(app);
    Validations.of(app).addPlugins(checks);
    const stack = new Stack(app, 'Theirs');
    new NotificationRetry(stack, 'Retry', { stage: 'test', senderAddress: sender });

    expect(() => app.synth()).not.toThrow();
  });
});
