import { Annotations, Match, type Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { parseStageConfig, StageConfigError } from '../../lib/config/stage-config.ts';
import { NEWSLETTER_TABLES, TABLES } from '../../src/adapters/dynamodb/schema.ts';
import { alarmsOf } from '../support/lib/cloudwatch.ts';
import { PAIRS, STAGES } from '../support/lib/stages.ts';
import { resourcesOf, stackOf, templateOf } from '../support/lib/synthesize.ts';

/** The functions of a stage, by their folders. */
function functionsIn(template: Template): string[] {
  return resourcesOf(template, 'AWS::Lambda::Function')
    .map(({ properties }) => String(Object(properties['Environment'])['Variables']?.['POWERTOOLS_SERVICE_NAME'] ?? ''))
    .filter((name) => name !== '')
    .sort();
}

const countIn = (template: Template, type: string): number => Object.keys(template.findResources(type)).length;

/** The names that a template refers to. */
function referredTo(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(referredTo);
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === 'Ref') return [String(inner)];
    if (key === 'Fn::GetAtt') return [String(Array.isArray(inner) ? inner[0] : inner)];
    return referredTo(inner);
  });
}

describe('the least stage', () => {
  const template = templateOf(STAGES.least);

  it('is schedule, sweep, indexer, lane, sender and DLQ: at most 85 resources, six functions', () => {
    expect(functionsIn(template)).toEqual(['dispatcher', 'due-indexer', 'reconciler', 'send-webhook']);
    expect(Object.keys(template.toJSON()['Resources']).length).toBeLessThanOrEqual(85);
    const queues = resourcesOf(template, 'AWS::SQS::Queue').map(
      ({ properties }) => properties['QueueName'] ?? 'indexer',
    );
    expect(queues.sort()).toEqual([
      'indexer',
      ...['dead-letter', 'express', 'standard'].map((name) => `notification-retry-dev-webhook-${name}`),
    ]);
  });

  it('needs no sender', () => {
    const least = { stage: 'dev', channels: ['webhook'], api: false, newsletters: false, monitoring: 'off' } as const;
    expect(parseStageConfig(least).senderAddress).toBeUndefined();
    expect(() => parseStageConfig({ ...least, channels: ['email'] })).toThrow('senderAddress is missing');
  });

  it.each([
    [STAGES.least, 0],
    [{}, 1],
  ])('is warned of a placeholder of a sender only where e-mails are sent: %j', (context, warnings) => {
    const stack = stackOf({ ...context, 'notification-retry.senderAddress': 'noreply@example.com' });
    expect(Annotations.fromStack(stack).findWarning('*', Match.stringLikeRegexp('placeholder'))).toHaveLength(warnings);
  });

  it('measures nothing and tells nobody', () => {
    for (const type of ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::Dashboard', 'AWS::SNS::Topic']) {
      expect(countIn(template, type), type).toBe(0);
    }
    for (const { properties } of resourcesOf(template, 'AWS::Lambda::Function')) {
      expect(properties['Environment']).toMatchObject({ Variables: { POWERTOOLS_METRICS_DISABLED: 'true' } });
    }
  });
});

describe('a stage without', () => {
  const all = new Set(functionsIn(templateOf(STAGES.default)));
  const without = (values: Readonly<Record<string, unknown>>) =>
    templateOf(Object.fromEntries(Object.entries(values).map(([key, value]) => [`notification-retry.${key}`, value])));

  it('newsletters has none of their functions, tables, secrets and alarms', () => {
    const template = templateOf(STAGES['without newsletters']);
    expect([...all].filter((name) => !functionsIn(template).includes(name))).toEqual([
      'api-emails',
      'api-newsletters',
      'newsletter-clock',
      'newsletter-events',
      'newsletter-prepare',
      'newsletter-send',
      'unsubscribe',
    ]);
    expect(countIn(template, 'AWS::DynamoDB::Table')).toBe(7);
    expect(countIn(template, 'AWS::SecretsManager::Secret')).toBe(2);
    // A stage keeps what the source documents call newsletters in no name of a resource.
    expect(Object.keys(template.toJSON()['Resources']).filter((id) => /newsletter|member/i.test(id))).toEqual([]);
  });

  it('newsletters may keep their data: tables, keys and secrets, and nothing that works on them', () => {
    const data = without({ newsletters: 'data' });
    expect(functionsIn(data)).toEqual(functionsIn(templateOf(STAGES['without newsletters'])));
    expect(countIn(data, 'AWS::DynamoDB::Table')).toBe(12);
    expect(countIn(data, 'AWS::SecretsManager::Secret')).toBe(3);
  });

  it('the API has no keys, tokens and newsletters', () => {
    const template = without({ api: false, newsletters: false });
    expect(functionsIn(template).filter((name) => name.startsWith('api-'))).toEqual([]);
    expect(countIn(template, 'AWS::ApiGatewayV2::Api')).toBe(0);
    expect(
      Object.keys(template.toJSON()['Resources']).filter((id) => /ApiKeys|TokenSecret|IntakeApi/.test(id)),
    ).toEqual([]);
  });

  it('the API gives its console a throttle of its own', () => {
    const template = without({
      api: false,
      newsletters: false,
      console: STAGES.everything['notification-retry.console'],
    });
    const [stage] = resourcesOf(template, 'AWS::ApiGatewayV2::Stage');
    expect(stage?.properties['DefaultRouteSettings']).toEqual({ ThrottlingRateLimit: 50, ThrottlingBurstLimit: 100 });
  });

  it('a channel has none of its queues and rights, and no other channel continues on it', () => {
    const text = JSON.stringify(without({ channels: ['slack', 'webhook'], newsletters: false }).toJSON());
    expect(text).toContain('notification-retry-dev-slack-express');
    expect(text).not.toContain('dev-teams-');
    expect(text).not.toMatch(/"ses:|aws\.ses|AWS::SES/);
  });
});

describe('outcomes', () => {
  const told = templateOf({ 'notification-retry.outcomes': true });
  const mappingsOf = (template: Template) =>
    resourcesOf(template, 'AWS::Lambda::EventSourceMapping').filter(({ id }) => id.includes('OutcomesTeller'));
  const streamsOf = (template: Template) =>
    resourcesOf(template, 'AWS::DynamoDB::Table').flatMap(({ id, properties }) => {
      const view = Object(properties['StreamSpecification'])['StreamViewType'];
      return view === undefined ? [] : [`${/Tables(?:Log|PipelineState|Members|Emails)/.exec(id)?.[0]} ${view}`];
    });

  it('are off unless a stage takes them: no bus, no function, no stream but that of NotificationLog', () => {
    const template = templateOf(STAGES.default);
    expect(functionsIn(template)).not.toContain('outcomes');
    expect(countIn(template, 'AWS::Events::EventBus')).toBe(0);
    expect(streamsOf(template)).toEqual(['TablesLog NEW_IMAGE']);
  });

  it('read the stream of NotificationLog as it is, and others of breakers, emails and members', () => {
    expect(streamsOf(told).sort()).toEqual([
      'TablesEmails NEW_AND_OLD_IMAGES',
      'TablesLog NEW_IMAGE',
      'TablesMembers NEW_AND_OLD_IMAGES',
      'TablesPipelineState NEW_AND_OLD_IMAGES',
    ]);
    expect(mappingsOf(told)).toHaveLength(4);
    for (const { properties } of mappingsOf(told)) {
      expect(properties).toMatchObject({
        StartingPosition: 'TRIM_HORIZON',
        BisectBatchOnFunctionError: true,
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        MaximumRecordAgeInSeconds: 23 * 3600,
        DestinationConfig: {
          OnFailure: { Destination: { 'Fn::GetAtt': [expect.stringContaining('OutcomesFailures'), 'Arn'] } },
        },
        FilterCriteria: { Filters: expect.anything() },
      });
      expect(properties['MaximumRetryAttempts']).toBeUndefined();
    }
    // A stream has two readers at most.
    const readers = resourcesOf(told, 'AWS::Lambda::EventSourceMapping').map(({ properties }) =>
      JSON.stringify(properties['EventSourceArn']),
    );
    for (const [, all] of Map.groupBy(readers, (arn) => arn)) expect(all.length).toBeLessThanOrEqual(2);
  });

  it('of a stage without newsletters leave their tables alone', () => {
    const data = templateOf({ 'notification-retry.outcomes': true, 'notification-retry.newsletters': 'data' });
    expect(streamsOf(data).sort()).toEqual(['TablesLog NEW_IMAGE', 'TablesPipelineState NEW_AND_OLD_IMAGES']);
    expect(mappingsOf(data)).toHaveLength(2);
  });

  it('may put events on their bus, and read members, and write nothing', () => {
    const [policy] = resourcesOf(told, 'AWS::IAM::Policy').filter(({ id }) => id.includes('OutcomesTellerRole'));
    const statements = Object(policy?.properties['PolicyDocument'])['Statement'] as { Action: string | string[] }[];
    expect(
      statements
        .flatMap(({ Action }) => Action)
        .filter((action) => !/^(logs|kms):/.test(action))
        .sort(),
    ).toEqual([
      'dynamodb:DescribeStream',
      'dynamodb:GetRecords',
      'dynamodb:GetShardIterator',
      'dynamodb:ListStreams',
      'dynamodb:Query',
      'events:PutEvents',
      'sqs:GetQueueAttributes',
      'sqs:GetQueueUrl',
      'sqs:SendMessage',
    ]);
  });

  it('have one alarm of critical monitoring: while they lag, nothing is lost yet', () => {
    const sections = alarmsOf(told).map(({ section }) => section);
    expect(sections).toContain('outcomes-lag');
    expect(sections).not.toContain('outcomes-not-told');
    expect(countIn(told, 'AWS::CloudWatch::Alarm')).toBeLessThanOrEqual(11);
  });
});

describe('monitoring', () => {
  it.each(['default', 'least'] as const)('of the stage %s has at most ten alarms, and no dashboard', (name) => {
    expect(countIn(templateOf(STAGES[name]), 'AWS::CloudWatch::Alarm')).toBeLessThanOrEqual(10);
    expect(countIn(templateOf(STAGES[name]), 'AWS::CloudWatch::Dashboard')).toBe(0);
  });

  it('that is critical tells what loses or delays notifications', () => {
    const sections = alarmsOf(templateOf(STAGES.default)).map(({ section }) => section);
    expect([...new Set(sections)].sort()).toEqual([
      'dead-letters-growing',
      'indexer-lag',
      'newsletter-dead-letters',
      'newsletter-failed',
      'newsletter-stalled',
      'oldest-due',
      'rows-missed',
      'rows-not-taken-in',
      'sweep-missing',
    ]);
    for (const { severity } of alarmsOf(templateOf(STAGES.default))) expect(severity).toBe('critical');
  });

  it('is full where the stage retains', () => {
    const retaining = templateOf({ 'notification-retry.retain': true });
    expect(countIn(retaining, 'AWS::CloudWatch::Dashboard')).toBe(1);
    expect(countIn(retaining, 'AWS::CloudWatch::Alarm')).toBeGreaterThan(50);
  });
});

describe('the fullest stage, with the longest lists', () => {
  const many = (value: string, characters: number) => Array(Math.floor(characters / value.length)).fill(value);
  const template = templateOf({
    ...STAGES.everything,
    'notification-retry.integrationSenders': many('billing@mail.your-domain.jp', 2_500),
    'notification-retry.integrationConfigurationSets': many('our-configuration-set', 500),
    'notification-retry.webhookPorts': many('8443', 500).map(Number),
    'notification-retry.newsletter': { senders: many('*@mail.your-domain.jp', 2_500) },
    'notification-retry.console': {
      ...Object(STAGES.everything['notification-retry.console']),
      operators: many('8b1d2c3e-0f4a-4b5c-9d6e-7f8091a2b3c4', 250),
      viewers: many('8b1d2c3e-0f4a-4b5c-9d6e-7f8091a2b3c4', 250),
    },
  });
  /** What CloudFormation fills in is as long as the ARN of a table in a stack of a long name. */
  const filledIn = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if ('Ref' in value) return 'x'.repeat(String(value.Ref).startsWith('AWS::') ? 14 : 110);
    if ('Fn::GetAtt' in value) return 'x'.repeat(110);
    if ('Fn::Join' in value) return (value['Fn::Join'] as [string, unknown[]])[1].map(filledIn).join('');
    if (Array.isArray(value)) return value.map(filledIn);
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, filledIn(one)]));
  };
  const lengthOf = (value: unknown) => JSON.stringify(filledIn(value)).length;

  it('has environments of at most 4,096 characters, as the JSON that Lambda measures', () => {
    for (const { id, properties } of resourcesOf(template, 'AWS::Lambda::Function')) {
      const length = lengthOf(Object(properties['Environment'])['Variables'] ?? {});
      expect({ id, length: Math.max(4_096, length) }).toEqual({ id, length: 4_096 });
    }
  });

  it('has roles with policies of at most 10,240 characters', () => {
    const byRole = Map.groupBy(resourcesOf(template, 'AWS::IAM::Policy'), ({ properties }) =>
      JSON.stringify(properties['Roles']),
    );
    for (const [role, policies] of byRole) {
      const length = policies.reduce((sum, { properties }) => sum + lengthOf(properties['PolicyDocument']), 0);
      expect({ role, length: Math.max(10_240, length) }).toEqual({ role, length: 10_240 });
    }
  });
});

it.each(PAIRS.map((context) => [JSON.stringify(context).replaceAll('notification-retry.', ''), context] as const))(
  'each pair of parts makes a template that refers to nothing that is not there: %s',
  (_, context) => {
    const { Resources = {}, Outputs = {}, Parameters = {} } = templateOf(context).toJSON();
    const known = new Set([...Object.keys(Resources), ...Object.keys(Parameters)]);
    const unknown = referredTo({ Resources, Outputs }).filter((name) => !known.has(name) && !name.startsWith('AWS::'));
    expect(unknown).toEqual([]);
  },
);

describe('the API', () => {
  const domain = {
    name: 'api.your-domain.jp',
    certificateArn: 'arn:aws:acm:ap-northeast-1:111122223333:certificate/0f2c',
  };
  const unsubscribeUrl = (template: Template) =>
    resourcesOf(template, 'AWS::Lambda::Function')
      .map(({ properties }) => Object(properties['Environment'])['Variables'])
      .find(({ POWERTOOLS_SERVICE_NAME }) => POWERTOOLS_SERVICE_NAME === 'newsletter-send')?.API_URL;
  const warningsOf = (context: Readonly<Record<string, unknown>>) =>
    stackOf({ 'notification-retry.senderAddress': 'noreply@mail.your-domain.jp', ...context })
      .notificationRetry.node.metadata.filter(({ type }) => type === 'aws:cdk:warning')
      .map(({ data }) => String(data));

  it('may have a domain of its own, to which the links of newsletters lead for two years', () => {
    const named = templateOf({ 'notification-retry.api': { domain } });
    named.hasResourceProperties('AWS::ApiGatewayV2::DomainName', {
      DomainName: domain.name,
      DomainNameConfigurations: [{ CertificateArn: domain.certificateArn }],
    });
    expect(unsubscribeUrl(named)).toMatchObject({
      'Fn::Join': ['', ['https://', { Ref: expect.stringContaining('Domain') }]],
    });
    expect(Object.keys(named.findOutputs('*'))).toContain('ApiDomainTarget');
    expect(JSON.stringify(unsubscribeUrl(templateOf(STAGES.default)))).toContain('ApiEndpoint');
  });

  it('has settings of the same routes with every choice of parts: API Gateway forgets none, and then refuses all updates', () => {
    const limited = [...Object.values(STAGES), ...PAIRS].flatMap((context) =>
      Object.values(templateOf(context).findResources('AWS::ApiGatewayV2::Stage'))
        .map(({ Properties }) => Object.keys(Properties.RouteSettings ?? {}).sort())
        .filter((keys) => keys.length > 0),
    );
    expect(limited.length).toBeGreaterThan(5);
    for (const keys of limited) expect(keys).toEqual(limited[0]);
  });

  it('warns of links without one, where the stage retains its data', () => {
    const retain = { 'notification-retry.retain': true };
    expect(warningsOf(retain)).toEqual([expect.stringContaining('set api.domain')]);
    expect(warningsOf({ ...retain, 'notification-retry.api': { domain } })).toEqual([]);
    expect(warningsOf({ ...retain, 'notification-retry.newsletters': false })).toEqual([]);
    expect(warningsOf({})).toEqual([]);
  });

  it('logs to a group that no policy of the account has to name, and that no stack of the same name has left', () => {
    const groups = resourcesOf(templateOf(STAGES.everything), 'AWS::Logs::LogGroup').filter(({ id }) =>
      /AccessLog/.test(id),
    );
    expect(groups.map(({ properties }) => JSON.stringify(properties['LogGroupName']))).toEqual([
      expect.stringMatching(/\/aws\/vendedlogs\/notification-retry-dev-.*AWS::StackId/),
      expect.stringMatching(/\/aws\/vendedlogs\/notification-retry-dev-console-.*AWS::StackId/),
    ]);
  });
});

/** The indexes of each table in the last release. Whoever releases copies them from src/adapters/dynamodb. */
const RELEASED: Readonly<Record<string, readonly string[]>> = {
  notification_log: ['work_index', 'notification_index', 'history_index'],
  emails: ['active_index', 'tenant_index'],
};

it('changes one index of a table per release: DynamoDB takes one per update, and the second would fail', () => {
  for (const [table, { indexes }] of Object.entries({ ...TABLES, ...NEWSLETTER_TABLES })) {
    const [now, before] = [Object.keys(indexes), RELEASED[table] ?? []];
    const added = now.filter((name) => !before.includes(name));
    const gone = before.filter((name) => !now.includes(name));
    expect({ table, changed: [...added, ...gone] }).toMatchObject({ table, changed: added.concat(gone).slice(0, 1) });
  }
});

describe('a configuration of parts', () => {
  const given = { stage: 'dev', senderAddress: 'noreply@your-domain.jp' } as const;
  const faultsOf = (input: object) => {
    try {
      parseStageConfig({ ...given, ...input });
      return [];
    } catch (error) {
      return error instanceof StageConfigError ? error.faults : [String(error)];
    }
  };

  it.each([
    [{ channels: [] }, 'channels must be a list of different channels, at least one of email, slack, teams, webhook'],
    [{ channels: ['email', 'email'] }, 'channels must be a list of different channels, at least one of'],
    [{ channels: ['fax'] }, 'channels'],
    [{ channels: ['slack'] }, 'newsletters need the channel email, which the stage does not have'],
    [{ api: false }, 'newsletters need the api, which the stage does not have: set newsletters to false, or to "data"'],
    [{ newsletters: 'off' }, 'newsletters must be true, false or "data"'],
    [{ monitoring: 'none' }, 'monitoring must be full, critical or off'],
    [{ retain: 'yes' }, 'retain must be true or false'],
    [{ api: { rateLimit: 0 } }, 'api.rateLimit must be a whole number from 1 to 10000'],
    [{ api: true }, 'api must be an object with the keys rateLimit, burstLimit, corsOrigins'],
    [{ api: { domain: { name: 'API' } } }, 'api.domain.name must be a domain in lower case'],
  ])('is refused with its fault: %j', (input, fault) => expect(faultsOf(input).join()).toContain(fault));

  it('passes again unchanged', () => {
    const once = parseStageConfig({ ...given, channels: ['email', 'slack'], newsletters: 'data', api: false });
    expect(parseStageConfig(once)).toEqual(once);
  });
});
