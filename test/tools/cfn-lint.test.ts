import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Stack, Stage } from 'aws-cdk-lib';
import { CfnQueue } from 'aws-cdk-lib/aws-sqs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { STAGES } from '../support/lib/stages.ts';
import { stackOf, templateOf } from '../support/lib/synthesize.ts';
import { hasTool, PYTHON_COMMANDS } from '../support/tools/tools.ts';

const CFN_LINT = join(PYTHON_COMMANDS, 'cfn-lint');
const REGIONS = ['us-east-1', 'eu-central-1', 'ap-northeast-1'];
/** CDK names in DependsOn what a function already refers to. Nothing depends on it. */
const IGNORED = ['W3005'];

const ON_A_PLATFORM = {
  ...STAGES.everything,
  'notification-retry.vpc': {
    vpcId: 'vpc-0123456789abcdef0',
    subnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'],
    securityGroupIds: ['sg-0123456789abcdef0'],
  },
  'notification-retry.encryptionKeyArn': 'arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab',
  'notification-retry.alarmTopicArn': 'arn:aws:sns:us-east-1:111122223333:alarms',
  'notification-retry.permissionsBoundaryArn': 'arn:aws:iam::111122223333:policy/boundary',
  'notification-retry.tags': { Team: 'platform' },
};

interface Finding {
  readonly Level: string;
  readonly Message: string;
  readonly Rule: { readonly Id: string };
  readonly Location: { readonly Path: readonly (string | number)[] };
}

/** What cfn-lint has to say of a template, in all regions: rule, message and place. */
async function lint(template: object): Promise<string[]> {
  const file = join(mkdtempSync(join(tmpdir(), 'notification-retry-lint-')), 'template.json');
  writeFileSync(file, JSON.stringify(template));
  const args = ['--format', 'json', '--ignore-checks', ...IGNORED, '--regions', ...REGIONS, '--template', file];
  // It ends with a code of its own for each kind of finding.
  const { stdout } = await promisify(execFile)(CFN_LINT, args, { maxBuffer: 2 ** 26 }).catch(
    (error: { stdout: string }) => error,
  );
  const findings: Finding[] = JSON.parse(stdout);
  return findings.map(({ Rule, Message, Location }) => `${Rule.Id} ${Message} (${Location.Path.join('/')})`);
}

/** The other tests synthesize without it: it takes a third of a synthesis. */
describe('CDK’s own validation', () => {
  afterEach(() => void vi.unstubAllEnvs());
  const validate = (stack: Stack) => () => {
    vi.stubEnv('CDK_VALIDATION', 'true');
    Stage.of(stack)?.synth();
  };

  it('finds nothing wrong with the stage everything', () => {
    expect(validate(stackOf(STAGES.everything))).not.toThrow();
  }, 60_000);

  it('finds a fault that is there', () => {
    const stack = stackOf(STAGES.least);
    new CfnQueue(stack, 'Wrong', { visibilityTimeout: 50_000 });
    expect(validate(stack)).toThrow('VisibilityTimeout');
  }, 60_000);
});

describe.skipIf(!hasTool('cfn-lint', CFN_LINT))('CloudFormation’s linter', () => {
  it.each([
    ['dev', { stage: 'dev' }],
    ['prod', { stage: 'prod' }],
    ...Object.entries(STAGES),
    ['on a platform', ON_A_PLATFORM],
  ] as const)(
    `finds nothing wrong with the stage %s in ${REGIONS.join(', ')}`,
    async (_, context) => expect(await lint(templateOf(context).toJSON())).toEqual([]),
    120_000,
  );

  it('finds a fault that is there', async () => {
    const Queue = { Type: 'AWS::SQS::Queue', Properties: { VisibilityTimeout: 50_000 } };
    expect(await lint({ Resources: { Queue } })).toEqual([expect.stringMatching(/^E3034 .*Queue/)]);
  }, 60_000);
});
