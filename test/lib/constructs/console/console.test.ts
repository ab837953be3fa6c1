import { runInNewContext } from 'node:vm';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { AwsSolutionsChecks } from 'cdk-nag';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseStageConfig } from '../../../../lib/config/stage-config.ts';
import { ROUTES_OF_THE_PAGE } from '../../../../lib/constructs/console/page.ts';
import { isOfNewsletters } from '../../../../src/application/console.ts';
import { NEWSLETTER_ROUTES } from '../../../../src/application/routes/newsletters.ts';
import { PIPELINE_ROUTES } from '../../../../src/application/routes/pipeline.ts';
import { resourcesOf, stackOf } from '../../../support/lib/synthesize.ts';

const ISSUER = 'https://login.example.com/realms/ops';
const byIssuer = { 'notification-retry.console': { issuer: ISSUER, clientId: 'console' } };
const byCognito = { 'notification-retry.console': { cognito: { domainPrefix: 'nr-ops' } } };

let off: Template;
let oidc: Template;
let cognito: Template;
beforeAll(() => {
  off = Template.fromStack(stackOf({}));
  oidc = Template.fromStack(stackOf(byIssuer));
  cognito = Template.fromStack(stackOf(byCognito));
}, 300_000);

interface Statement {
  readonly Action: unknown;
  readonly Resource: unknown;
  readonly Condition?: object;
}

describe('the console on the web', () => {
  it('leaves nothing in a stage that does not switch it on', () => {
    for (const type of ['AWS::CloudFront::Distribution', 'AWS::S3::Bucket', 'AWS::Cognito::UserPool']) {
      off.resourceCountIs(type, 0);
    }
    // Not the metadata, which holds the path of the checkout.
    const functions = resourcesOf(off, 'AWS::Lambda::Function').map(({ id, properties }) => ({ id, properties }));
    expect(JSON.stringify(functions)).not.toMatch(/console/i);
    expect(Object.keys(off.findOutputs('*'))).not.toContain('ConsoleUrl');
  });

  it('answers no route without a token of the issuer for this client', () => {
    oidc.hasResourceProperties('AWS::ApiGatewayV2::Authorizer', {
      AuthorizerType: 'JWT',
      IdentitySource: ['$request.header.Authorization'],
      JwtConfiguration: { Issuer: ISSUER, Audience: ['console'] },
    });
    const routes = resourcesOf(oidc, 'AWS::ApiGatewayV2::Route').filter(({ properties }) =>
      String(properties['RouteKey']).includes('/api/{proxy+}'),
    );
    expect(routes.map(({ properties }) => properties['RouteKey']).sort()).toEqual([
      'GET /api/{proxy+}',
      'POST /api/{proxy+}',
    ]);
    for (const { properties } of routes) expect(properties['AuthorizationType']).toBe('JWT');
  });

  it('sends the routes of newsletters, and no others, to the function with their rights', () => {
    const consoleRoutes = resourcesOf(oidc, 'AWS::ApiGatewayV2::Route').filter(
      ({ properties }) => / \/api\//.test(String(properties['RouteKey'])) && properties['AuthorizationType'] === 'JWT',
    );
    const paths = consoleRoutes.map(({ properties }) => String(properties['RouteKey']).replace('{proxy+}', '.+'));
    const particular = paths.filter((path) => !path.endsWith(' /api/.+')).map((path) => new RegExp(`^${path}$`));
    const isTheirs = ({ key }: { readonly key: string }) => particular.some((path) => path.test(key));
    expect(NEWSLETTER_ROUTES.filter((route) => !isTheirs(route))).toEqual([]);
    expect(PIPELINE_ROUTES.filter(isTheirs)).toEqual([]);
    // A stage without newsletters says by the same paths that it has none.
    const isLacked = ({ key }: { readonly key: string }) => isOfNewsletters(key.replace(/^\w+ /, ''));
    expect(NEWSLETTER_ROUTES.filter((route) => !isLacked(route))).toEqual([]);
    expect(PIPELINE_ROUTES.filter(isLacked)).toEqual([]);
  });

  it('gives the right to send mail to the function of newsletters only', () => {
    const sending = resourcesOf(oidc, 'AWS::IAM::Policy').filter(
      ({ id, properties }) => id.includes('Console') && JSON.stringify(properties).includes('ses:Send'),
    );
    expect(sending.map(({ id }) => id)).toEqual([expect.stringContaining('ConsoleNewslettersFunction')]);
  });

  it('names what CloudFront has once per account after the region, so that a second one has it, too', () => {
    const inRegion = { 'Fn::Join': ['', ['notification-retry-dev-console-', { Ref: 'AWS::Region' }]] };
    oidc.hasResourceProperties('AWS::CloudFront::ResponseHeadersPolicy', {
      ResponseHeadersPolicyConfig: { Name: inRegion },
    });
    oidc.hasResourceProperties('AWS::CloudFront::OriginAccessControl', {
      OriginAccessControlConfig: { Name: inRegion },
    });
    const [routes] = resourcesOf(oidc, 'AWS::CloudFront::Function');
    expect(JSON.stringify(routes?.properties['Name'])).toContain('AWS::Region');
  });

  it('does not wait for CloudFront to drop its copies: more than ten minutes of that would roll the stack back', () => {
    oidc.hasResourceProperties('Custom::CDKBucketDeployment', { WaitForDistributionInvalidation: false });
  });

  it.each([false, true])(
    'empties and removes its bucket, which holds only the built page, with `retain` %s',
    (retain) => {
      const template = Template.fromStack(stackOf({ ...byIssuer, 'notification-retry.retain': retain }));
      template.resourceCountIs('Custom::S3AutoDeleteObjects', 1);
      template.hasResource('AWS::S3::Bucket', { DeletionPolicy: 'Delete' });
    },
  );

  it('leaves nothing behind where the stage does not retain, not even the logs of the functions that CDK makes', () => {
    const policies = Object.values<{ DeletionPolicy?: string }>(cognito.toJSON()['Resources']).map(
      ({ DeletionPolicy = 'Delete' }) => DeletionPolicy,
    );
    expect(new Set(policies)).toEqual(new Set(['Delete']));
    cognito.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 7 });
    // Lambda would make a group of its own for a function without one, which nothing ever deletes.
    cognito.allResourcesProperties('AWS::Lambda::Function', { LoggingConfig: { LogGroup: Match.anyValue() } });
  });

  it.each(['https://tenant.eu.auth0.com/', 'https://login.example.com/realms/ops'])(
    'takes an issuer as its claim names it: %s',
    (issuer) => {
      const console = { issuer, clientId: 'console' };
      expect(parseStageConfig({ stage: 'dev', senderAddress: 'a@example.com', console }).console).toMatchObject(
        console,
      );
    },
  );

  it('keeps its files private, and says by headers that nothing else runs, frames or sniffs', () => {
    oidc.hasResourceProperties('AWS::S3::Bucket', {
      PublicAccessBlockConfiguration: { BlockPublicAcls: true, BlockPublicPolicy: true, RestrictPublicBuckets: true },
    });
    oidc.resourceCountIs('AWS::CloudFront::OriginAccessControl', 1);
    oidc.hasResourceProperties('AWS::CloudFront::ResponseHeadersPolicy', {
      ResponseHeadersPolicyConfig: {
        SecurityHeadersConfig: {
          ContentSecurityPolicy: {
            Override: true,
            ContentSecurityPolicy: Match.stringLikeRegexp(
              "default-src 'none'.*connect-src 'self' https://login\\.example\\.com;.*frame-ancestors 'none'",
            ),
          },
          FrameOptions: { FrameOption: 'DENY', Override: true },
          ReferrerPolicy: { ReferrerPolicy: 'no-referrer', Override: true },
          ContentTypeOptions: { Override: true },
        },
      },
    });
    const [distribution] = resourcesOf(oidc, 'AWS::CloudFront::Distribution');
    expect(JSON.stringify(distribution?.properties)).not.toContain('allow-all');
  });

  it.each([
    ['/', '/index.html'],
    ['/notifications', '/index.html'],
    ['/notifications/report.2026', '/index.html'],
    ['/notifications/a%2Fb.js', '/index.html'],
    ['/newsletters/emails/EM1', '/index.html'],
    ['/config.json', '/config.json'],
    ['/assets/console-0123456789ab.js', '/assets/console-0123456789ab.js'],
  ])('CloudFront answers %s with %s', (uri, file) => {
    expect(runInNewContext(`${ROUTES_OF_THE_PAGE} handler({ request: { uri } }).uri`, { uri })).toBe(file);
  });

  it('makes a user pool without an issuer: nobody signs up, a second factor, groups, short tokens, no secret', () => {
    oidc.resourceCountIs('AWS::Cognito::UserPool', 0);
    for (const { properties } of resourcesOf(cognito, 'AWS::Cognito::UserPool')) {
      expect(properties['LambdaConfig']).toBeUndefined();
    }
    cognito.hasResourceProperties('AWS::Cognito::UserPool', {
      AdminCreateUserConfig: { AllowAdminCreateUserOnly: true },
      MfaConfiguration: 'ON',
    });
    cognito.hasResourceProperties('AWS::Cognito::UserPoolClient', {
      GenerateSecret: false,
      AllowedOAuthFlows: ['code'],
      AccessTokenValidity: 15,
      AllowedOAuthScopes: ['openid'],
      ExplicitAuthFlows: ['ALLOW_CUSTOM_AUTH'],
      // RFC 9700, 2.2.2: a page without a secret gets a refresh token for one use.
      RefreshTokenRotation: { Feature: 'ENABLED', RetryGracePeriodSeconds: 30 },
      WriteAttributes: ['locale'],
    });
    // An ID token has no scope.
    for (const { properties } of resourcesOf(cognito, 'AWS::ApiGatewayV2::Route')) {
      if (String(properties['RouteKey']).includes('/api/'))
        expect(properties['AuthorizationScopes']).toEqual(['openid']);
    }
    const groups = resourcesOf(cognito, 'AWS::Cognito::UserPoolGroup').map(({ properties }) => properties['GroupName']);
    expect(groups.sort()).toEqual(['operator', 'viewer']);
  });

  it.each(['openid email offline_access', 'openid'])('takes the scope %s', (scope) => {
    const console = { issuer: ISSUER, clientId: 'console', scope };
    expect(parseStageConfig({ stage: 'dev', senderAddress: 'a@example.com', console }).console).toMatchObject({
      scope,
    });
  });

  it.each(['', 'email', 'openid  email', 'openid"', 'myopenid'])('refuses the scope %j', (scope) => {
    const console = { issuer: ISSUER, clientId: 'console', scope };
    expect(() => parseStageConfig({ stage: 'dev', senderAddress: 'a@example.com', console })).toThrow(/console/);
  });

  it.each([byIssuer, byCognito])('passes cdk-nag', (context) => {
    const stack = stackOf(context);
    expect(new AwsSolutionsChecks().validateScope(stack.node.root).violations).toEqual([]);
  });

  const tableOf = (name: string) =>
    String(resourcesOf(oidc, 'AWS::DynamoDB::Table').find(({ id }) => id.includes(name))?.id);
  /** What the roles of a function, or all of them, may do with a table. */
  const statementsOf = (role: string, table: string) =>
    resourcesOf(oidc, 'AWS::IAM::Policy')
      .filter(({ id }) => id.includes(role))
      .flatMap(({ properties }) => (properties['PolicyDocument'] as { Statement: Statement[] }).Statement)
      .filter(({ Resource }) => JSON.stringify(Resource).includes(table));

  it('lets its function delete and change the answers of requests in the audit table, and no record', () => {
    const statements = statementsOf('ConsoleApiFunction', tableOf('Audit'));
    const changing = statements.filter(({ Action }) => /DeleteItem|UpdateItem|BatchWrite|PartiQL/.test(String(Action)));
    expect(changing.map(({ Condition }) => Condition)).toEqual([
      {
        'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['request#*'] },
        Null: { 'dynamodb:LeadingKeys': 'false' },
      },
    ]);
  });

  it('lets its function record what a cancellation ends, also in place of an older record', () => {
    const actions = statementsOf('ConsoleApiFunction', 'TablesRetryLog').flatMap(({ Action }) => Action);
    expect(actions).toEqual(expect.arrayContaining(['dynamodb:PartiQLInsert', 'dynamodb:PutItem']));
  });

  it('gives the function of newsletters no item of PipelineState but those of rates and budgets', () => {
    const statements = statementsOf('NewslettersFunction', tableOf('PipelineState'));
    expect(statements.map(({ Condition }) => JSON.stringify(Condition))).toEqual([
      expect.stringContaining('["rate#*"]'),
      expect.stringContaining('["budget"]'),
    ]);
  });

  it('lets no function change as whom tenants may write newsletters', () => {
    const writing = statementsOf('', tableOf('Newsletters')).filter(({ Action }) =>
      /(Put|Update|Delete|Write)Item|PartiQL/.test(String(Action)),
    );
    // Those of the API and of the console.
    expect(writing).toHaveLength(2);
    for (const { Action, Condition } of writing) {
      expect(Action).toBe('dynamodb:UpdateItem');
      expect(Condition).toMatchObject({ 'ForAllValues:StringNotLike': { 'dynamodb:LeadingKeys': ['senders#*'] } });
    }
  });

  it('gives the function for bulk operations notifications, contents for corrections, and its own items', () => {
    const policies = resourcesOf(oidc, 'AWS::IAM::Policy').filter(({ id }) => id.includes('ConsoleOperations'));
    const text = JSON.stringify(policies);
    expect(policies.length).toBeGreaterThan(0);
    const keys = [...text.matchAll(/"dynamodb:LeadingKeys":(\[[^\]]*\])/g)].map(([, kinds]) => kinds);
    expect(keys).toEqual(['["operation"]', '["shards"]']);
    // A corrected content gets another life, for which its fallback is sealed anew.
    expect(text).toContain('TablesContent');
    expect(text).not.toContain('DeleteItem');
    for (const table of ['TablesApiKeys', 'TablesAudit', 'RecipientHash', 'secretsmanager']) {
      expect(text).not.toContain(table);
    }
  });
});
