import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/local/support/json.ts';
import { PAIRS, STAGES } from '../support/lib/stages.ts';
import { templateOf } from '../support/lib/synthesize.ts';
import { IAM_DATA, unknownToIam } from '../support/tools/iam-reference.ts';
import { hasTool } from '../support/tools/tools.ts';

const CONSOLE = JSON.stringify({ issuer: 'https://issuer.your-domain.example', clientId: 'console' });

const policy = (...Statement: JsonObject[]): JsonObject => ({
  Resources: {
    Rights: { Type: 'AWS::IAM::Policy', Properties: { PolicyDocument: { Statement } } },
    Table: { Type: 'AWS::DynamoDB::Table', Properties: {} },
  },
});
const identity = 'arn:aws:ses:us-east-1:123456789012:identity/*';
const template = 'arn:aws:ses:us-east-1:123456789012:template/*';

describe.skipIf(!hasTool('iam-data', IAM_DATA))('AWS’s reference of rights', () => {
  it.each<readonly [string, Readonly<Record<string, unknown>>]>([
    ['dev', { stage: 'dev' }],
    ...Object.entries(STAGES),
    ...PAIRS.map((context) => [JSON.stringify(context), context] as const),
    ['prod with a console', { stage: 'prod', 'notification-retry.console': CONSOLE }],
    [
      'dev with settings of its own',
      {
        'notification-retry.configurationSet': 'events',
        'notification-retry.integrationSenders': '["sales@their-domain.jp"]',
      },
    ],
  ])('knows all that the statements of %s say', (_, context) => {
    expect(unknownToIam(templateOf(context).toJSON())).toEqual([]);
  });

  it.each<[string, JsonObject, string]>([
    ['an action', { Action: 'sqs:SendMessageBatch', Resource: '*' }, 'sqs:SendMessageBatch is no action'],
    [
      'a condition key that the action does not have',
      {
        Action: 'ses:SendBulkEmail',
        Resource: [identity, template],
        Condition: { StringLike: { 'ses:FromAddress': '*' } },
      },
      'ses:SendBulkEmail has no condition key ses:FromAddress',
    ],
    [
      'a required resource that is missing',
      { Action: 'ses:SendBulkEmail', Resource: identity },
      'ses:SendBulkEmail needs a resource of type template',
    ],
    [
      'a resource that the action does not take',
      { Action: 'sqs:SendMessage', Resource: { 'Fn::GetAtt': ['Table', 'Arn'] } },
      'sqs:SendMessage takes no resource arn:aws:dynamodb:us-east-1:123456789012:table/Table',
    ],
    [
      'an action of the whole account',
      { Action: 'ses:GetAccount', Resource: identity },
      'ses:GetAccount has no resources',
    ],
  ])('finds %s', (_, statement, fault) => {
    expect(unknownToIam(policy({ Effect: 'Allow', ...statement })).join()).toContain(fault);
  });
});
