import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { synthesizeForEmulator } from '../support/emulator/assembly.ts';
import { MINUTES } from '../support/emulator/deploy.ts';
import { type DeployedStack, stackOn } from '../support/emulator/deployed-stack.ts';
import { type Ministack, startMinistack } from '../support/emulator/ministack.ts';
import { until } from '../support/emulator/until.ts';

/** Opt-in by `npm run test:emulator`. The emulator does not say which network and boundary it was given. */
describe("a stage on a team's platform, on another AWS emulator", { timeout: 6 * MINUTES }, () => {
  let emulator: Ministack;
  let stack: DeployedStack;
  let key: string;
  let topic: string;
  let boundary: string;
  const json = async (...args: readonly string[]) => JSON.parse(await stack.aws(args));

  beforeAll(async () => {
    emulator = await startMinistack({ enforceIam: false });
    stack = stackOn(emulator);
    key = (await json('kms', 'create-key')).KeyMetadata.Arn;
    topic = (await json('sns', 'create-topic', '--name', 'platform-alarms')).TopicArn;
    const document = JSON.stringify({
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Action: '*', Resource: '*' }],
    });
    boundary = (await json('iam', 'create-policy', '--policy-name', 'b', '--policy-document', document)).Policy.Arn;
    const { VpcId } = (await json('ec2', 'create-vpc', '--cidr-block', '10.9.0.0/16')).Vpc;
    const made = await json('ec2', 'create-subnet', '--vpc-id', VpcId, '--cidr-block', '10.9.1.0/24');
    const group = ['--group-name', 'functions', '--description', 'functions', '--vpc-id', VpcId];
    const { GroupId } = await json('ec2', 'create-security-group', ...group);
    const assembly = await synthesizeForEmulator({
      vpc: JSON.stringify({ vpcId: VpcId, subnetIds: [made.Subnet.SubnetId], securityGroupIds: [GroupId] }),
      encryptionKeyArn: key,
      alarmTopicArn: topic,
      permissionsBoundaryArn: boundary,
      tags: '{"Team":"platform"}',
    });
    await stack.prepare(assembly);
    await stack.deploy(assembly);
  }, 12 * MINUTES);
  afterAll(() => emulator?.stop(), MINUTES);

  it('is deployed with its key and its topic, and sweeps', async () => {
    const { DataKey, RecipientKey, AlertsTopic, LaneQueues = '{}' } = await stack.outputs();
    expect({ DataKey, RecipientKey, AlertsTopic }).toEqual({ DataKey: key, RecipientKey: key, AlertsTopic: topic });
    const url = JSON.parse(LaneQueues).webhook.express;
    const { Attributes } = await json('sqs', 'get-queue-attributes', '--queue-url', url, '--attribute-names', 'All');
    expect(Attributes.KmsMasterKeyId).toBe(key);
    expect(await stack.invoke('dispatcher', { dry_run: true })).not.toHaveProperty('FunctionError');
  });

  it('seals a recipient with the key, opens it and sends', async () => {
    const api = (await stack.npm('ops', ['keys', 'create', '--tenant', 'T1', '--scope', 'send'])).trim();
    const body = {
      channel: 'email',
      priority: 'urgent',
      recipient: 'a@your-domain.example',
      subject: 'Hi',
      body: 'Hello',
    };
    const headers = { authorization: `Bearer ${api}`, 'content-type': 'application/json', 'idempotency-key': 'one' };
    const accepted = await stack.api({ method: 'POST', path: '/v1/notifications', headers, body });
    expect(accepted).toMatchObject({ status: 202 });
    const { log_id } = JSON.parse(accepted.body);
    await until('it is sent', async () => (await stack.row(log_id))?.['send_status'] === 'SUCCESS');
  });
});
