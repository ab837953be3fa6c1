import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { createMemberStore } from '../../../../src/adapters/dynamodb/newsletter/member-store.ts';
import { fromHeader } from '../../../../src/adapters/email/address.ts';
import { CHANNELS } from '../../../../src/core/model/channels.ts';
import type { MemberStore } from '../../../../src/core/newsletter/model/ports.ts';
import { resourcesOf, templateOf } from '../../../support/lib/synthesize.ts';

interface Statement {
  readonly Effect: 'Allow' | 'Deny';
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: unknown;
}

let template: Template;
beforeAll(() => {
  template = templateOf({
    'notification-retry.senderAddress': 'noreply@mail.your-domain.jp',
    'notification-retry.configurationSet': 'events',
    'notification-retry.integrationSenders': '["sales@their-domain.jp"]',
    'notification-retry.integrationConfigurationSets': '["theirs"]',
  });
});

function statementsOf(role: string): Statement[] {
  return resourcesOf(template, 'AWS::IAM::Policy')
    .filter(({ properties }) => JSON.stringify(properties['Roles']).includes(role))
    .flatMap(({ properties }) => Object(properties['PolicyDocument']).Statement);
}

/** All rights of one function, by action. */
function permissionsOf(role: string): Map<string, string> {
  const statements = statementsOf(role);
  expect(statements.length).toBeGreaterThan(0);
  const permissions = new Map<string, string>();
  for (const { Effect, Action, Resource } of statements) {
    if (Effect === 'Deny') continue;
    for (const action of [Action].flat()) {
      permissions.set(action, `${permissions.get(action) ?? ''}${JSON.stringify(Resource)}`);
    }
  }
  return permissions;
}

/** The names of these actions, by service. */
function actionsOf(permissions: ReadonlyMap<string, string>, wanted = /./): Record<string, readonly string[]> {
  const actions = [...permissions.keys()].filter((action) => wanted.test(action)).sort();
  const services = Map.groupBy(actions, (action) => action.split(':')[0] ?? '');
  return Object.fromEntries(
    [...services].map(([service, all]) => [service, all.map((one) => one.split(':')[1] ?? '')]),
  );
}

describe('no role', () => {
  it('is handed to a service that is not named, or may do without a key what its keys limit', () => {
    const statements = resourcesOf(template, 'AWS::IAM::Policy').flatMap(
      ({ properties }): Statement[] => Object(properties['PolicyDocument']).Statement,
    );
    const passing = statements.filter(({ Action }) => [Action].flat().includes('iam:PassRole'));
    expect(passing.map(({ Condition }) => Condition)).toEqual([
      { StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' } },
    ]);
    // Each ForAllValues is true for a request without the key.
    const limited = statements.filter(({ Condition }) => JSON.stringify(Condition ?? {}).includes('ForAllValues'));
    expect(limited.length).toBeGreaterThan(10);
    for (const { Condition } of limited) {
      const [name = ''] = Object.keys(Object(Object.entries(Object(Condition)).find(([is]) => is !== 'Null')?.[1]));
      expect(Object(Condition).Null).toEqual({ [name]: 'false' });
    }
  });

  it('has a * in its actions, and in its resources only where it is explained', () => {
    const statements = resourcesOf(template, 'AWS::IAM::Policy').flatMap(
      ({ properties }): Statement[] => Object(properties['PolicyDocument']).Statement,
    );

    expect(statements.flatMap(({ Action }) => Action).filter((action) => action.includes('*'))).toEqual([]);
    const wild = statements.filter(
      ({ Effect, Resource }) => Effect === 'Allow' && JSON.stringify(Resource).includes('*'),
    );
    expect(new Set(wild.flatMap(({ Action }) => Action))).toEqual(
      new Set([
        'secretsmanager:GetSecretValue',
        'dynamodb:ListStreams',
        'ses:SendEmail',
        'ses:SendBulkEmail',
        'ses:SendBulkTemplatedEmail',
        'ses:GetAccount',
        'ses:GetEmailIdentity',
        'scheduler:CreateSchedule',
        'scheduler:DeleteSchedule',
      ]),
    );
    for (const { Action, Resource } of wild) {
      if (Action === 'secretsmanager:GetSecretValue') {
        expect(JSON.stringify(Resource)).toContain(':secret:notification-retry/dev/integrations/');
      }
    }
  });

  it('takes a managed policy of AWS', () => {
    for (const { properties } of resourcesOf(template, 'AWS::IAM::Role')) {
      expect(properties).not.toHaveProperty('ManagedPolicyArns');
    }
  });
});

describe('the dispatcher', () => {
  it('reads the work index, fills lanes, invokes itself, ends malformed rows with the attempts of crashed workers, and records itself', () => {
    const permissions = permissionsOf('DispatcherRole');

    expect(actionsOf(permissions)).toEqual({
      dynamodb: ['BatchGetItem', 'GetItem', 'PartiQLInsert', 'PartiQLUpdate', 'PutItem', 'Query', 'UpdateItem'],
      kms: ['Decrypt', 'DescribeKey', 'Encrypt', 'GenerateDataKey'],
      lambda: ['InvokeFunction'],
      logs: ['CreateLogStream', 'PutLogEvents'],
      sqs: ['GetQueueAttributes', 'SendMessage'],
    });
    expect(permissions.get('dynamodb:Query')).toContain('/index/work_index');
    expect(permissions.get('dynamodb:GetItem')).toMatch(/^[^/]*Tables(PipelineState|RetryLog)[^/]*$/);
    expect(permissions.get('dynamodb:PartiQLInsert')).toMatch(/^[^/]*TablesRetryLog[^/]*$/);
    expect(permissions.get('dynamodb:PartiQLUpdate')).toMatch(/^[^/]*TablesLog[^/]*$/);
    expect(permissions.get('dynamodb:UpdateItem')).toMatch(/^[^/]*Tables(PipelineState|Log)[^/]*$/);
    expect(permissions.get('sqs:SendMessage')).not.toContain('DeadLetters');
    expect(permissions.get('kms:Decrypt')).not.toContain('RecipientKey');
  });

  it('can be created: it does not wait for the policy that waits for it', () => {
    const [dispatcher] = Object.entries(
      template.findResources('AWS::Lambda::Function', { Properties: { Timeout: 900 } }),
    );
    const [continuation] = Object.keys(
      template.findResources('AWS::IAM::Policy', {
        Properties: { PolicyDocument: { Statement: [Match.objectLike({ Action: 'lambda:InvokeFunction' })] } },
      }),
    );

    expect(continuation).toBeDefined();
    expect(dispatcher?.[1]['DependsOn']).not.toContain(continuation);
  });
});

describe('a channel function', () => {
  it('receives from its own lanes only, and never sends a message to a dead-letter queue', () => {
    const permissions = permissionsOf('SlackSenderRole');

    expect(permissions.get('sqs:ReceiveMessage')).toMatch(/SlackExpress.*SlackStandard/);
    expect(permissions.get('sqs:ReceiveMessage')).not.toMatch(/Email|Teams|Webhook|DeadLetters/);
    // A successor goes to its fallback channel's lane.
    for (const channel of ['Slack', 'Email', 'Teams', 'Webhook']) {
      expect(permissions.get('sqs:SendMessage')).toMatch(new RegExp(`${channel}Express.*${channel}Standard`));
    }
    expect(permissions.get('sqs:SendMessage')).not.toContain('DeadLetters');
  });

  it.each(CHANNELS)('for %s reads the secrets of its own integrations, but of no other channel', (channel) => {
    const role = `${channel.charAt(0).toUpperCase()}${channel.slice(1)}SenderRole`;
    const statements = statementsOf(role);
    const secrets = statements
      .filter(({ Action }) => Action === 'secretsmanager:GetSecretValue')
      .map(({ Effect, Resource }) => [
        Effect,
        [Resource].flat().map((one) => /:secret:notification-retry\/dev\/(.*?)"/.exec(JSON.stringify(one))?.[1]),
      ]);
    expect(secrets).toEqual([['Allow', [`integrations/${channel}/*`]]]);
  });

  it('opens recipients, but cannot make data keys, or delete anything', () => {
    const permissions = permissionsOf('SlackSenderRole');

    expect(permissions.get('kms:Decrypt')).toContain('RecipientKey');
    expect(permissions.get('kms:GenerateDataKey')).not.toContain('RecipientKey');
    expect(permissions.get('dynamodb:GetItem')).toContain('TablesDataKeys');
    expect([...permissions.keys()].filter((action) => /^dynamodb:.*(Delete|Scan)/.test(action))).toEqual([]);
    expect(permissions.get('dynamodb:BatchWriteItem')).toBeUndefined();
    // Successors.
    expect(permissions.get('dynamodb:PutItem')).toMatch(/TablesLog/);
    expect(permissions.get('dynamodb:PutItem')).toMatch(/TablesContent/);
    // A record that must not replace another one (src/core/delivery/retry-record.ts).
    expect(permissions.get('dynamodb:PartiQLInsert')).toMatch(/TablesRetryLog/);
    expect(permissions.get('dynamodb:PartiQLInsert')).not.toMatch(/TablesLog|TablesContent/);
    expect(permissions.get('dynamodb:PutItem')).not.toMatch(/PipelineState|DataKeys/);
  });

  it('reads and writes no item of PipelineState but breakers and budgets', () => {
    template.hasResourceProperties('AWS::IAM::Policy', {
      PolicyName: Match.stringLikeRegexp('SlackSenderRole'),
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({
            Action: ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:UpdateItem'],
            Condition: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['breaker', 'budget'] } },
          }),
        ]),
      },
    });
    expect(permissionsOf('SlackSenderRole').get('dynamodb:Query')).not.toMatch(/TablesLog|TablesContent|RetryLog/);
  });

  it('for e-mail sends as the configured senders only', () => {
    template.hasResourceProperties('AWS::IAM::Policy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({
            Action: 'ses:SendEmail',
            Condition: {
              StringEquals: { 'ses:FromAddress': ['noreply@mail.your-domain.jp', 'sales@their-domain.jp'] },
            },
          }),
        ]),
      },
    });
    const resources = permissionsOf('EmailSenderRole').get('ses:SendEmail') ?? '';
    for (const set of ['events', 'theirs']) expect(resources).toContain(`:configuration-set/${set}"`);
  });

  it('for e-mail sends as the senders in the form that it sends them, as AWS compares case by case', () => {
    const [own, theirs] = ['Noreply@Mail.Your-Domain.JP', 'Sales@Their-Domain.jp'];
    const mixed = templateOf({
      'notification-retry.senderAddress': own,
      'notification-retry.integrationSenders': JSON.stringify([theirs]),
    });
    const conditions = resourcesOf(mixed, 'AWS::IAM::Policy')
      .flatMap(({ properties }): Statement[] => Object(properties['PolicyDocument']).Statement)
      .flatMap(({ Condition = {} }) => JSON.stringify(Condition).match(/(?<="ses:FromAddress":)[^}]*/) ?? []);
    expect(new Set(conditions)).toEqual(
      new Set([JSON.stringify([own, theirs].map(fromHeader)), JSON.stringify(['*@mail.your-domain.jp'])]),
    );
  });

  it('for e-mail may address recipients that are verified in the account, as all are in the SES sandbox', () => {
    const resources = permissionsOf('EmailSenderRole').get('ses:SendEmail') ?? '';

    expect(resources).toMatch(/:ses:.*:identity\/\*"/);
  });

  it.each(['Slack', 'Teams', 'Webhook'])('for %s sends no e-mail', (channel) => {
    expect([...permissionsOf(`${channel}SenderRole`).keys()].filter((action) => action.startsWith('ses:'))).toEqual([]);
  });
});

describe.each(['SendFunctionRole', 'EmailsRole'])('the role %s of a function that sends newsletters', (role) => {
  const resources = [':identity/*"', ':configuration-set/notification-retry-dev-newsletters"', ':template/*"'];
  const bulk = (action: string) => {
    const found = statementsOf(role).filter(({ Action }) => [Action].flat().includes(action));
    expect(found).toHaveLength(1);
    return found[0];
  };

  it('may call SES’s bulk API, which knows no condition on the sender', () => {
    const statement = bulk('ses:SendBulkEmail');

    expect(statement).not.toHaveProperty('Condition');
    for (const resource of resources) expect(JSON.stringify(statement?.Resource)).toContain(resource);
  });

  it('sends as the senders of newsletters, where SES authorises the call by its older name', () => {
    const statement = bulk('ses:SendBulkTemplatedEmail');

    expect(statement?.Condition).toEqual({ StringLikeIfExists: { 'ses:FromAddress': ['*@mail.your-domain.jp'] } });
    for (const resource of resources) expect(JSON.stringify(statement?.Resource)).toContain(resource);
  });
});

describe('the function of delivery events', () => {
  it('corrects rows and records, and queues retries of e-mails, but reads no recipient and no content', () => {
    const permissions = permissionsOf('DeliveryEventsHandlerRole');

    expect(actionsOf(permissions, /^dynamodb:/)).toEqual({
      dynamodb: ['BatchGetItem', 'GetItem', 'PartiQLInsert', 'PartiQLUpdate', 'PutItem', 'UpdateItem'],
    });
    expect(JSON.stringify([...permissions])).not.toMatch(/TablesContent|RecipientKey|secretsmanager|ses:/);
    expect(permissions.get('sqs:SendMessage')).toMatch(/EmailExpress.*EmailStandard/);
    expect(permissions.get('sqs:SendMessage')).not.toMatch(/Slack|Teams|Webhook|DeadLetters|Failures/);
  });
});

it('the due-indexer adds index keys and content, encrypts recipients, and does nothing else', () => {
  const permissions = permissionsOf('IndexerRole');

  expect(permissions.get('dynamodb:UpdateItem')).toContain('TablesLog');
  expect(permissions.get('dynamodb:PutItem')).toContain('TablesContent');
  expect(permissions.get('kms:GenerateDataKey')).toContain('RecipientKey');
  expect(permissions.get('dynamodb:GetRecords')).toContain('StreamArn');
  expect(permissions.get('sqs:SendMessage')).toContain('Failures');
  // Whether another image has taken the row in.
  expect(permissions.get('dynamodb:GetItem')).toContain('TablesLog');
  expect(permissions.get('dynamodb:UpdateItem')).not.toMatch(/TablesContent|DataKeys/);
  expect(permissions.get('dynamodb:Query')).toContain('TablesRetryLog');
  expect(permissions.get('dynamodb:Query')).not.toMatch(/TablesLog|TablesContent/);
  expect([...permissions.keys()].filter((action) => /^dynamodb:.*(Delete|Scan|Batch)/.test(action))).toEqual([]);
});

it('the monitor reads the index and the dead rows, keeps what it told, and publishes to the alerts topic', () => {
  const permissions = permissionsOf('MonitorRole');

  expect(actionsOf(permissions, /^(?!kms|logs)/)).toEqual({
    dynamodb: ['BatchGetItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'],
    sns: ['Publish'],
  });
  expect(permissions.get('dynamodb:PutItem')).not.toMatch(/TablesLog|TablesContent|TablesRetryLog/);
  expect(permissions.get('dynamodb:Query')).not.toMatch(/TablesContent|TablesRetryLog/);
  expect(permissions.get('kms:Decrypt')).not.toContain('RecipientKey');
});

describe('the API’s functions', () => {
  const actions = (role: string) => [...permissionsOf(role).keys()];

  it('for the intake seals recipients, and deletes nothing', () => {
    const permissions = permissionsOf('IntakeApiIntakeRole');
    expect(permissions.get('kms:GenerateDataKey')).toContain('RecipientKey');
    expect(permissions.get('dynamodb:PutItem')).toMatch(/TablesLog.*TablesContent/);
    expect(permissions.get('dynamodb:PutItem')).not.toContain('ApiKeys');
    expect(permissions.get('dynamodb:UpdateItem')).not.toContain('DataKeys');
    expect(permissions.get('sqs:SendMessage')).not.toContain('DeadLetters');
    expect(actions('IntakeApiIntakeRole').filter((action) => /Delete|Scan|Query/.test(action))).toEqual([
      'dynamodb:Query',
    ]);
    // A reported failure reads and writes the recorded attempts, but no content and no recipient.
    expect(permissions.get('dynamodb:Query')).toContain('TablesRetryLog');
    expect(permissions.get('dynamodb:Query')).not.toMatch(/TablesContent|TablesLog|ApiKeys|\*/);
  });

  it('for questions and retries reads no recipients and no keys, and of the content what writers noted', () => {
    const all = JSON.stringify([...permissionsOf('IntakeApiNotificationsRole')]);
    expect(all).not.toMatch(/RecipientKey|RecipientHash|ApiKeys/);
    const ofContent = statementsOf('IntakeApiNotificationsRole').filter(({ Resource }) =>
      JSON.stringify(Resource).includes('TablesContent'),
    );
    const columns = ['log_id', 'tenant_id', 'response_message', 'error_details'];
    expect(ofContent).toMatchObject([
      {
        Action: 'dynamodb:GetItem',
        Condition: {
          'ForAllValues:StringEquals': { 'dynamodb:Attributes': columns },
          Null: { 'dynamodb:Attributes': 'false' },
        },
      },
    ]);
    expect(actions('IntakeApiNotificationsRole').filter((action) => /Delete|Scan|Put/.test(action))).toEqual([
      'logs:PutLogEvents',
    ]);
  });

  it('for newsletters and members reads and writes these, and can delete or scan nothing', () => {
    const all = JSON.stringify([...permissionsOf('IntakeApiNewslettersRole')]);
    expect(all).toMatch(/NewsletterTablesMembers/);
    expect(all).not.toMatch(
      /TablesLog|TablesContent|TablesRetryLog|ApiKeys|NewsletterTables(Emails|Batches|Recipients)/,
    );
    expect(actions('IntakeApiNewslettersRole').filter((action) => /Delete|Scan|sqs|ses/.test(action))).toEqual([]);
  });

  it.each([
    ['IntakeApiIntakeRole', ['dynamodb:GetItem', 'dynamodb:UpdateItem']],
    ['IntakeApiNotificationsRole', 'dynamodb:GetItem'],
    ['IntakeApiNewslettersRole', undefined],
  ])(
    'touch nothing of the pipeline’s state but the counts of requests and the number of shards: %s',
    (role, onShards) => {
      template.hasResourceProperties('AWS::IAM::Policy', {
        PolicyName: Match.stringLikeRegexp(role),
        PolicyDocument: {
          Statement: Match.arrayWith([
            Match.objectLike({
              Action: 'dynamodb:UpdateItem',
              Resource: { 'Fn::GetAtt': [Match.stringLikeRegexp('TablesPipelineState'), 'Arn'] },
              Condition: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['rate#*'] } },
            }),
          ]),
        },
      });
      const others = [...permissionsOf(role)].filter(([action]) => !/^dynamodb:(Update|Get)Item$/.test(action));
      expect(JSON.stringify(others)).not.toContain('PipelineState');
      const kinds = Object.values(template.findResources('AWS::IAM::Policy'))
        .filter(({ Properties }) => String(Properties.PolicyName).includes(role))
        .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)
        .filter(({ Resource }) => JSON.stringify(Resource).includes('PipelineState'))
        .map(({ Action, Condition }) => [Action, Object.values({ ...Condition, Null: undefined }).filter(Boolean)]);
      expect(kinds).toEqual([
        ['dynamodb:UpdateItem', [{ 'dynamodb:LeadingKeys': ['rate#*'] }]],
        ...(onShards === undefined ? [] : [[onShards, [{ 'dynamodb:LeadingKeys': ['shards'] }]]]),
      ]);
    },
  );

  it('for the key check reads one key, and nothing else', () => {
    const permissions = permissionsOf('IntakeApiKeyCheckRole');
    expect(actions('IntakeApiKeyCheckRole').filter((action) => action.startsWith('dynamodb:'))).toEqual([
      'dynamodb:GetItem',
    ]);
    expect(permissions.get('dynamodb:GetItem')).toContain('ApiKeys');
  });
});

/** The actions that methods of the members' storage take, by a client that finds nothing. */
async function actionsOfMembers(use: (members: MemberStore) => Promise<unknown>): Promise<readonly string[]> {
  const actions = new Set<string>();
  const send = async (command: object) => {
    actions.add(`dynamodb:${command.constructor.name.replace(/Command$/, '')}`);
    return { Items: [], Responses: {}, UnprocessedKeys: {}, UnprocessedItems: {}, ConsumedCapacity: {} };
  };
  await use(createMemberStore({ send } as unknown as DynamoDBClient, 'members', () => new Date(0)));
  return [...actions];
}

describe('who works on members', () => {
  const facts = (members: MemberStore) => members.facts('t', ['hash']);
  const person = (members: MemberStore) => members.read('t', 'm-1');
  // A preparation, and a dry run, follow members who move meanwhile.
  const candidates = async (members: MemberStore) => {
    const query = { tenant_id: 't', newsletter_id: 'weekly', fields: new Set<never>() };
    for await (const _ of members.addressees(query)) break;
    for await (const _ of members.audience(query)) break;
    await Promise.all([members.address('t', 'hash'), person(members)]);
  };

  it.each([
    ['PrepareFunctionRole', candidates],
    ['IntakeApiEmailsRole', (members: MemberStore) => Promise.all([candidates(members), facts(members)])],
    ['SendFunctionRole', facts],
    [
      'UnsubscribeRole',
      (members: MemberStore) => Promise.all([person(members), members.unsubscribe('t', 'h', 'n', '-')]),
    ],
    [
      'NewsletterEventsHandlerRole',
      (members: MemberStore) =>
        Promise.all([person(members), members.suppress('t', 'h', { reason: 'bounced', at: '-' })]),
    ],
  ])('may do there what it does: %s', async (role, use) => {
    const rights = permissionsOf(role);
    const needed = await actionsOfMembers(use);
    expect(needed.length).toBeGreaterThan(0);
    for (const action of needed) expect(`${action} on ${rights.get(action)}`).toContain('NewsletterTablesMembers');
  });
});

describe('the key that wraps data keys', () => {
  const SEALING = [
    'IndexerRole',
    'ReconcilerReconcilerRole',
    'IntakeApiIntakeRole',
    'IntakeApiNewslettersRole',
    'PrepareFunctionRole',
  ];
  const NEWSLETTER_OPENING = ['SendFunctionRole', 'EmailsRole', 'UnsubscribeRole', 'NewsletterEventsHandlerRole'];
  const OPENING = ['SlackSenderRole', 'EmailSenderRole', 'TeamsSenderRole', 'WebhookSenderRole', ...NEWSLETTER_OPENING];
  /** They check and sign the tokens of web pages. */
  const READING_A_SECRET = ['IntakeApiKeyCheckRole', 'IntakeApiTokensRole'];
  const ofPurpose = (role: string) => ({
    StringEquals: {
      'kms:EncryptionContext:purpose': /Newsletter|Function|EmailsRole|Unsubscribe/.test(role) ? 'member' : 'recipient',
    },
  });
  const WITHOUT_SECRETS = ['PrepareFunctionRole'];
  const secretsManager = (suffix: string) => ({
    'Fn::Join': ['', ['secretsmanager.', { Ref: 'AWS::Region' }, `.${suffix}`]],
  });
  const bySecretsManager = {
    Action: 'kms:Decrypt',
    Condition: { StringEquals: { 'kms:ViaService': ['amazonaws.com', 'amazonaws.com.cn'].map(secretsManager) } },
  };
  const onRecipientKey = (role: string) =>
    statementsOf(role).filter(({ Resource }) => JSON.stringify(Resource).includes('RecipientKey'));

  it.each([...SEALING, ...OPENING])(
    'serves %s for the data keys of its purpose, and for secrets by way of Secrets Manager',
    (role) => {
      const actions = SEALING.includes(role) ? ['kms:Decrypt', 'kms:GenerateDataKey'] : 'kms:Decrypt';
      expect(onRecipientKey(role).map(({ Action, Condition }) => ({ Action, Condition }))).toEqual([
        { Action: actions, Condition: ofPurpose(role) },
        ...(WITHOUT_SECRETS.includes(role) ? [] : [bySecretsManager]),
      ]);
    },
  );

  it.each(READING_A_SECRET)('serves %s for its secret only', (role) => {
    expect(onRecipientKey(role)).toEqual([expect.objectContaining(bySecretsManager)]);
    expect(JSON.stringify(statementsOf(role))).not.toContain('TablesDataKeys');
  });

  it('serves nobody else, and nobody else reads data keys', () => {
    const others = resourcesOf(template, 'AWS::IAM::Policy')
      .map(({ properties }) => JSON.stringify(properties))
      .filter((policy) => ![...SEALING, ...OPENING, ...READING_A_SECRET].some((role) => policy.includes(role)));
    expect(others.length).toBeGreaterThan(3);
    for (const policy of others) expect(policy).not.toMatch(/RecipientKey|TablesDataKeys/);
  });
});

it('the reconciler reads the whole log, adds index keys and content, keeps its cursor, and decrypts nothing', () => {
  const permissions = permissionsOf('ReconcilerReconcilerRole');

  expect(actionsOf(permissions, /^(dynamodb|lambda|sqs):/)).toEqual({
    dynamodb: ['GetItem', 'PutItem', 'Query', 'Scan', 'UpdateItem'],
    lambda: ['InvokeFunction'],
  });
  expect(permissions.get('dynamodb:Scan')).toMatch(/TablesLog/);
  expect(permissions.get('dynamodb:PutItem')).not.toMatch(/TablesLog/);
  expect(permissions.get('kms:GenerateDataKey')).toContain('RecipientKey');
});
