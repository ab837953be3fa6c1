import { afterEach, beforeEach, expect, it } from 'vitest';
import { readPlatform } from '../../../src/adapters/deployment/platform-facts.ts';
import { type Loopback, replying, startLoopback } from '../../support/loopback.ts';

const KEY = 'arn:aws:kms:us-east-1:111122223333:key/1234';
const TOPIC = 'arn:aws:sns:us-east-1:111122223333:alarms';
const POLICY = {
  Statement: [
    { Effect: 'Allow', Principal: { AWS: 'arn:aws:iam::111122223333:root' }, Action: 'kms:*' },
    { Effect: 'Allow', Principal: { Service: ['logs.us-east-1.amazonaws.com', 'events.amazonaws.com'] } },
    { Effect: 'Deny', Principal: { Service: 'cloudwatch.amazonaws.com' } },
  ],
};

/** What EC2 has, as it answers. The second subnet names no table and has the main one. */
const EC2: Readonly<Record<string, string>> = {
  DescribeSubnets: `<subnetSet>
    <item><subnetId>subnet-a</subnetId><availabilityZone>us-east-1a</availabilityZone></item>
    <item><subnetId>subnet-b</subnetId><availabilityZone>us-east-1b</availabilityZone></item></subnetSet>`,
  DescribeSecurityGroups: '<securityGroupInfo><item><groupId>sg-1</groupId></item></securityGroupInfo>',
  DescribeRouteTables: `<routeTableSet>
    <item><routeTableId>rtb-a</routeTableId>
      <routeSet><item><destinationCidrBlock>0.0.0.0/0</destinationCidrBlock><natGatewayId>nat-1</natGatewayId>
        <state>active</state></item></routeSet>
      <associationSet><item><subnetId>subnet-a</subnetId></item></associationSet></item>
    <item><routeTableId>rtb-main</routeTableId>
      <routeSet><item><destinationCidrBlock>0.0.0.0/0</destinationCidrBlock><gatewayId>igw-1</gatewayId>
        <state>active</state></item></routeSet>
      <associationSet><item><main>true</main></item></associationSet></item></routeTableSet>`,
  DescribeVpcEndpoints: `<vpcEndpointSet>
    <item><serviceName>com.amazonaws.us-east-1.dynamodb</serviceName><state>available</state>
      <vpcEndpointType>Gateway</vpcEndpointType><privateDnsEnabled>false</privateDnsEnabled>
      <routeTableIdSet><item>rtb-main</item></routeTableIdSet></item>
    <item><serviceName>com.amazonaws.us-east-1.sqs</serviceName><state>available</state>
      <privateDnsEnabled>true</privateDnsEnabled></item>
    <item><serviceName>com.amazonaws.us-east-1.kms</serviceName><state>pending</state>
      <privateDnsEnabled>true</privateDnsEnabled></item>
    <item><serviceName>com.amazonaws.us-east-1.sns</serviceName><state>available</state>
      <privateDnsEnabled>false</privateDnsEnabled></item></vpcEndpointSet>`,
};

let aws: Loopback;
const asked: string[] = [];
beforeEach(async () => {
  aws = await startLoopback();
  asked.length = 0;
  aws.answer = (response, received) => {
    const target = String(received.headers['x-amz-target'] ?? '');
    const json = (value: object) => replying(200, JSON.stringify(value))(response, received);
    if (target.endsWith('DescribeKey')) {
      return json({ KeyMetadata: { KeyState: 'Enabled', KeySpec: 'SYMMETRIC_DEFAULT' } });
    }
    if (target.endsWith('GetKeyPolicy')) return json({ Policy: JSON.stringify(POLICY) });
    asked.push(received.body);
    const action = new URLSearchParams(received.body).get('Action') ?? '';
    const policy = JSON.stringify({ Statement: { Effect: 'Allow', Principal: { AWS: '*' } } });
    const xml =
      action === 'GetTopicAttributes'
        ? `<GetTopicAttributesResponse><GetTopicAttributesResult><Attributes><entry><key>Policy</key><value>${policy.replaceAll('"', '&quot;')}</value></entry></Attributes></GetTopicAttributesResult></GetTopicAttributesResponse>`
        : `<${action}Response>${EC2[action]}</${action}Response>`;
    return replying(200, xml, { 'content-type': 'text/xml' })(response, received);
  };
});
afterEach(() => aws.close());

const access = (credentials = { accessKeyId: 'a', secretAccessKey: 'b' }) => ({
  region: 'us-east-1',
  endpoint: aws.url,
  credentials,
});
const vpc = { vpcId: 'vpc-1', subnetIds: ['subnet-a', 'subnet-b'], securityGroupIds: ['sg-1'] };

it('reads what leads out of each subnet, and whom key and topic admit', async () => {
  expect(await readPlatform({ vpc, encryptionKeyArn: KEY, alarmTopicArn: TOPIC }, access())).toEqual({
    network: {
      subnets: [
        { id: 'subnet-a', zone: 'us-east-1a', leaves: true, gateways: [] },
        { id: 'subnet-b', zone: 'us-east-1b', leaves: false, gateways: ['dynamodb'] },
      ],
      groups: ['sg-1'],
      endpoints: ['sqs'],
    },
    key: { usable: true, services: ['logs.us-east-1.amazonaws.com', 'events.amazonaws.com'] },
    topic: { services: ['*'] },
  });
  for (const body of asked.filter((one) => one.includes('Describe'))) expect(body).toContain('vpc-1');
});

it('asks for nothing that a stage does not bring, and is content where AWS says nothing', async () => {
  expect(await readPlatform({}, access())).toEqual({});
  expect(asked).toEqual([]);
  aws.answer = replying(403, '<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>');
  expect(await readPlatform({ vpc, alarmTopicArn: TOPIC, encryptionKeyArn: null }, access())).toEqual({
    network: 'unknown',
    topic: 'unknown',
  });
});
