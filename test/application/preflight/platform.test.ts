import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import type { PlatformFacts } from '../../../src/adapters/deployment/platform-facts.ts';
import type { Finding, Holdings, Wanted } from '../../../src/application/preflight/finding.ts';
import { lossesOf } from '../../../src/application/preflight/losses.ts';
import { CALLED, keyUsers, platformFindings } from '../../../src/application/preflight/platform.ts';
import { STAGES } from '../../support/lib/stages.ts';
import { resourcesOf, templateOf } from '../../support/lib/synthesize.ts';
import { wantedOf } from '../../support/lib/wanted-of.ts';
import { PROJECT_ROOT } from '../../support/project-root.ts';

const page = readFileSync(join(PROJECT_ROOT, 'docs/reference/your-platform.md'), 'utf8');
const VPC = { vpcId: 'vpc-1', subnetIds: ['subnet-a', 'subnet-b'], securityGroupIds: ['sg-1'] };
const STAGE: Wanted = { ...wantedOf(STAGES.everything), vpc: VPC };
const ENDPOINTS = CALLED.map(({ endpoint }) => endpoint);

const subnet = (id: string, leaves: boolean, ...gateways: readonly string[]) => ({ id, zone: id, leaves, gateways });
const network = (more: Partial<Exclude<PlatformFacts['network'], 'unknown' | undefined>> = {}): PlatformFacts => ({
  network: { subnets: VPC.subnetIds.map((id) => subnet(id, true)), groups: ['sg-1'], endpoints: [], ...more },
});
const judged = (facts: PlatformFacts, stage: Wanted = STAGE): Pick<Finding, 'state' | 'says'>[] =>
  platformFindings(facts, stage, 'eu-west-1').map(({ state, says }) => ({ state, says }));

/** Services that roles of functions may call. */
function calledIn(template: Template): Set<string> {
  const statements = resourcesOf(template, 'AWS::IAM::Policy').flatMap(
    ({ properties }) => Object(properties['PolicyDocument']).Statement,
  );
  const services = statements.flatMap(({ Action }) => [Action].flat()).map((action) => action.split(':')[0]);
  // Lambda writes the logs; a role that is passed needs no call of its own; CDK's own function asks CloudFront.
  return new Set(services.filter((service) => !['logs', 'iam', 'cloudfront'].includes(service)));
}

describe('the services that must be reached from a network', () => {
  it.each(Object.entries(STAGES))('are those that the roles may call: %s', (_, context) => {
    const wanted = wantedOf(context);
    expect(
      CALLED.filter(({ by }) => by(wanted))
        .map(({ service }) => service)
        .sort(),
    ).toEqual([...calledIn(templateOf(context))].sort());
  });

  it('are those of the documented table', () => {
    const [, table = ''] = page.split('## Network');
    const documented = [...table.matchAll(/^\| ?`([a-z0-9]+)` \|/gm)].map(([, name]) => name);
    expect(documented).toEqual(ENDPOINTS);
  });
});

describe('a network', () => {
  it('is enough with a way out, or with all endpoints for what has no receivers outside', () => {
    expect(judged(network())).toEqual([{ state: 'ok', says: 'vpc-1 leads to all that the functions call.' }]);
    const closed = VPC.subnetIds.map((id) => subnet(id, false, 'dynamodb', 's3'));
    const endpoints = ENDPOINTS.filter((name) => !['dynamodb', 's3'].includes(name));
    const mail: Wanted = { ...STAGE, channels: ['email'], console: false };
    expect(judged(network({ subnets: closed, endpoints }), mail)).toMatchObject([{ state: 'ok' }]);
  });

  it('is refused where one subnet does not lead to a service, or to receivers', () => {
    const subnets = [subnet('subnet-a', true), subnet('subnet-b', false, 'dynamodb')];
    const endpoints = ENDPOINTS.filter((name) => name !== 'sqs' && name !== 'dynamodb');
    expect(judged(network({ subnets, endpoints }))).toEqual([
      { state: 'refused', says: 'From subnet-b nothing leads to sqs.' },
      {
        state: 'refused',
        says: 'From subnet-b nothing leads to the internet, which slack, teams, webhook, the console need.',
      },
    ]);
  });

  it.each([
    [{ subnets: [subnet('subnet-a', true)] }, 'refused', 'vpc-1 does not have subnet-b.'],
    [{ groups: [] }, 'refused', 'vpc-1 does not have sg-1.'],
    [
      { subnets: VPC.subnetIds.map((id) => ({ ...subnet(id, true), zone: 'a' })) },
      'warning',
      'All subnets are in one availability zone: when it fails, nothing is sent.',
    ],
  ])('is judged by what it has: %j', (more, state, says) => {
    expect(judged(network(more))).toEqual([{ state, says }]);
  });
});

describe("a team's key", () => {
  const users = keyUsers(STAGE, 'eu-west-1');
  const key = (services: readonly string[], usable = true): PlatformFacts => ({ key: { usable, services } });

  it('is refused where its policy does not admit what would fail silently', () => {
    expect(users).toHaveLength(4);
    expect(judged(key(users))).toMatchObject([{ state: 'ok' }]);
    for (const left of users) {
      const [found] = judged(key(users.filter((one) => one !== left)));
      expect(found).toEqual({ state: 'refused', says: `The policy of encryptionKeyArn does not admit ${left}.` });
    }
    expect(judged(key(users, false))).toMatchObject([{ state: 'refused' }]);
  });

  it('needs no right for a part that the stage is without', () => {
    const least: Wanted = { ...STAGE, channels: ['webhook'], monitoring: false, console: false };
    expect(judged(key(['logs.eu-west-1.amazonaws.com']), least)).toMatchObject([{ state: 'ok' }]);
  });

  it('is admitted to all of them by the documented policy', () => {
    const [, json = '[]'] = /## Key[\s\S]*?```json\n([\s\S]*?)```/.exec(page) ?? [];
    const statements: readonly {
      Effect: string;
      Principal: { Service?: string | string[] };
      Action: string | string[];
    }[] = JSON.parse(json.replaceAll('REGION', 'eu-west-1'));
    const admitted = statements.flatMap(({ Principal: { Service = [] } }) => Service);
    expect(admitted.sort()).toEqual([...users].sort());
    for (const { Effect, Action } of statements) {
      expect([Effect, [Action].flat().includes('kms:Decrypt')]).toEqual(['Allow', true]);
    }
  });

  it('is not changed while recipients are sealed with another', () => {
    const held = { ...STAGE, sealed: true } as unknown as Holdings;
    const next: Wanted = { ...STAGE, encryptionKeyArn: 'arn:aws:kms:eu-west-1:111122223333:key/2' };
    const refusals = (wanted: Wanted, deployed: Holdings) =>
      lossesOf(wanted, deployed).filter(({ check }) => check === 'key');
    const quiet = { ...held, work: {}, ties: { rules: [], subscribers: 0 } };
    expect(refusals(next, quiet)).toMatchObject([{ state: 'refused' }]);
    expect(refusals(next, { ...quiet, sealed: false })).toEqual([]);
    expect(refusals({ ...next, encryptionKeyArn: null }, quiet)).toEqual([]);
    expect(refusals(STAGE, { ...quiet, encryptionKeyArn: 'arn:aws:kms:eu-west-1:111122223333:key/2' })).toHaveLength(1);
  });
});

describe("a team's topic", () => {
  it.each([
    [['*'], 'ok'],
    [['cloudwatch.amazonaws.com'], 'ok'],
    [['events.amazonaws.com'], 'refused'],
  ])('with a policy for %j is %s', (services, state) => {
    expect(judged({ topic: { services } })).toMatchObject([{ state }]);
  });

  it('is said to be unknown where AWS does not say, like all else', () => {
    expect(judged({ topic: 'unknown', key: 'unknown', network: 'unknown' }).map(({ state }) => state)).toEqual([
      'warning',
      'warning',
      'warning',
    ]);
  });
});
