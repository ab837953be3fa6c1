import { CfnResource, Stack } from 'aws-cdk-lib';
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it } from 'vitest';
import { readStageConfig } from '../../lib/config/stage-context.ts';
import { NotificationRetryStack } from '../../lib/notification-retry-stack.ts';
import { STAGES } from '../support/lib/stages.ts';
import { appOf, resourcesOf, stackOf, templateOf } from '../support/lib/synthesize.ts';

const ISSUER = STAGES.everything;
const COGNITO = { ...STAGES.everything, 'notification-retry.console': { cognito: { domainPrefix: 'ours' } } };
const APART = { 'notification-retry.stackPerPart': true };
const VPC = { vpcId: 'vpc-01234567', subnetIds: ['subnet-01234567'], securityGroupIds: ['sg-01234567'] };

const app = appOf({ ...COGNITO, ...APART, 'notification-retry.vpc': VPC, 'notification-retry.tags': { Team: 'x' } });
new NotificationRetryStack(app, 'Stack', { config: readStageConfig(app.node) });
const stacks = app.node.children.filter((one) => Stack.isStack(one));
const templates = Object.fromEntries(stacks.map((one) => [one.stackName, Template.fromStack(one)]));
const [main, page, watch] = ['Stack', 'Stack-console', 'Stack-monitoring'].map((name) => templates[name]) as [
  Template,
  Template,
  Template,
];
const whole = templateOf(COGNITO);

const idsOf = (template: Template, ...types: readonly string[]) =>
  types.flatMap((type) => Object.keys(template.findResources(type)).map((id) => `${type} ${id}`)).sort();
/** What loses something when it is made anew. */
const DATA = [
  ...['AWS::DynamoDB::Table', 'AWS::KMS::Key', 'AWS::SecretsManager::Secret', 'AWS::SNS::Topic'],
  ...['AWS::Cognito::UserPool', 'AWS::Cognito::UserPoolGroup', 'AWS::Cognito::UserPoolDomain', 'AWS::Events::EventBus'],
];
const servicesOf = (template: Template) =>
  Object.values(template.findResources('AWS::Lambda::Function')).flatMap(
    ({ Properties }) => Object(Properties.Environment).Variables?.POWERTOOLS_SERVICE_NAME ?? [],
  );

describe('a stage with a stack per part', () => {
  it('has console and monitoring in stacks of their own, and nothing twice', () => {
    expect(Object.keys(templates).sort()).toEqual(['Stack', 'Stack-console', 'Stack-monitoring']);
    expect(servicesOf(page).sort()).toEqual(['console-api', 'console-newsletters', 'console-operations']);
    expect(servicesOf(watch)).toEqual(['monitor']);
    const all = [main, page, watch].flatMap(servicesOf).sort();
    expect(all).toEqual(servicesOf(whole).sort());
    const alarms = (template: Template) =>
      resourcesOf(template, 'AWS::CloudWatch::Alarm').map(({ properties }) => properties['AlarmName']);
    expect(alarms(watch).sort()).toEqual(alarms(whole).sort());
    for (const template of [main, page]) template.resourceCountIs('AWS::CloudWatch::Alarm', 0);
    expect(Object.keys(main.toJSON()['Resources']).length).toBeLessThan(330);
    // CloudFormation takes 200.
    expect(Object.keys(main.findOutputs('*')).length).toBeLessThan(150);
  });

  it('keeps data where it was when it was one stack', () => {
    expect(idsOf(main, ...DATA)).toEqual(idsOf(whole, ...DATA));
    for (const template of [page, watch]) expect(idsOf(template, ...DATA)).toEqual([]);
  });

  it('refers from its parts to what they watch, without an export that would hold it fast', () => {
    const text = JSON.stringify([main, page, watch].map((one) => one.toJSON()));
    expect(text).toContain('Fn::GetStackOutput');
    expect(text).not.toContain('Fn::ImportValue');
    expect(text).not.toContain('"Export"');
    expect(JSON.stringify(main.toJSON())).not.toContain('Fn::GetStackOutput');
  });

  it('has its outputs where commands look for them, and the address of the console beside it', () => {
    const names = Object.keys(whole.findOutputs('*')).filter((name) => name !== 'ConsoleUrl');
    expect(Object.keys(main.findOutputs('*'))).toEqual(expect.arrayContaining(names));
    expect(Object.keys(page.findOutputs('*'))).toContain('ConsoleUrl');
    const named = [page, watch].flatMap((one) => JSON.stringify(one.toJSON()).match(/"STACK_NAME":"[^"]*"/g) ?? []);
    expect(new Set(named)).toEqual(new Set(['"STACK_NAME":"Stack"']));
  });

  it("has a team's platform in every part", () => {
    for (const template of Object.values(templates)) {
      for (const { id, properties } of resourcesOf(template, 'AWS::Lambda::Function')) {
        expect(properties['VpcConfig'], id).toBeDefined();
        expect(properties['Tags'], id).toContainEqual({ Key: 'Team', Value: 'x' });
      }
    }
  });

  it('is accepted by cdk-nag', () => {
    expect(new AwsSolutionsChecks().validateScope(stackOf({ ...COGNITO, ...APART }).node.root).violations).toEqual([]);
  });
});

describe('a stack', () => {
  const warned = (context = {}) => {
    const stack = stackOf({ ...ISSUER, ...context });
    for (let i = 0; i < 50; i++) new CfnResource(stack, `Their${i}`, { type: 'AWS::SNS::Topic' });
    return Annotations.fromStack(stack).findWarning(
      '*',
      Match.stringLikeRegexp('resources, and CloudFormation takes 500'),
    );
  };

  it('is said to be nearly full above 450 resources, those of its team included', () => {
    expect(Object.keys(templateOf(ISSUER).toJSON()['Resources']).length).toBeLessThanOrEqual(450);
    expect(warned()).toHaveLength(1);
    expect(warned(APART)).toHaveLength(0);
  });
});
