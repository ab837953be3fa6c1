import type { Brought, PlatformFacts } from '../../adapters/deployment/platform-facts.ts';
import { CHANNELS, type Channel } from '../../core/model/channels.ts';
import { type Finding, ok, type Parts, refused, warning } from './finding.ts';

type Stage = Parts & Brought;

/**
 * What the functions of a stage call in AWS: the service as IAM names it, its endpoint (`com.amazonaws.REGION.…`), and
 * the stages that need it. Their logs take a way of Lambda's own.
 */
export const CALLED: readonly {
  readonly service: string;
  readonly endpoint: string;
  readonly by: (of: Parts) => boolean;
}[] = [
  { service: 'dynamodb', endpoint: 'dynamodb', by: () => true },
  { service: 'kms', endpoint: 'kms', by: () => true },
  { service: 'lambda', endpoint: 'lambda', by: () => true },
  { service: 'secretsmanager', endpoint: 'secretsmanager', by: () => true },
  { service: 'sqs', endpoint: 'sqs', by: () => true },
  { service: 'ses', endpoint: 'email', by: ({ channels }) => channels.includes('email') },
  { service: 'scheduler', endpoint: 'scheduler', by: ({ newsletters }) => newsletters === true },
  { service: 'sns', endpoint: 'sns', by: ({ monitoring }) => monitoring },
  { service: 'events', endpoint: 'events', by: ({ outcomes }) => outcomes },
  { service: 'cloudwatch', endpoint: 'monitoring', by: ({ console }) => console },
  { service: 's3', endpoint: 's3', by: ({ console }) => console },
];

/** Channels whose receivers are on the internet. */
const OUTSIDE: readonly Channel[] = CHANNELS.filter((channel) => channel !== 'email');

const PAGE = 'docs/reference/your-platform.md';

/** What what a team brings lacks. */
export function platformFindings(facts: PlatformFacts, stage: Stage, region: string): Finding[] {
  return [...networkFindings(facts, stage), ...keyFindings(facts, stage, region), ...topicFindings(facts, stage)];
}

function networkFindings({ network }: PlatformFacts, stage: Stage): Finding[] {
  const { vpc } = stage;
  if (network === undefined || !vpc) return [];
  if (network === 'unknown') {
    const remedy = `Allow ec2:DescribeSubnets, DescribeSecurityGroups, DescribeRouteTables and DescribeVpcEndpoints.`;
    return [warning('vpc', `${vpc.vpcId} could not be read.`, remedy)];
  }
  const { subnets, groups, endpoints } = network;
  const absent = [
    ...vpc.subnetIds.filter((id) => !subnets.some((one) => one.id === id)),
    ...vpc.securityGroupIds.filter((id) => !groups.includes(id)),
  ];
  if (absent.length > 0) {
    return [refused('vpc', `${vpc.vpcId} does not have ${absent.join(', ')}.`, 'Name its own in vpc.')];
  }
  const found: Finding[] = [];
  const closed = subnets.filter(({ leaves }) => !leaves);
  const unreachable = CALLED.filter(
    ({ endpoint, by }) =>
      by(stage) && !endpoints.includes(endpoint) && closed.some(({ gateways }) => !gateways.includes(endpoint)),
  );
  if (unreachable.length > 0) {
    const says = `From ${namesOf(closed)} nothing leads to ${unreachable.map(({ endpoint }) => endpoint).join(', ')}.`;
    found.push(refused('vpc', says, `Add endpoints with private DNS, or a NAT gateway: ${PAGE}#network`));
  }
  const outside = [...stage.channels.filter((one) => OUTSIDE.includes(one)), ...(stage.console ? ['the console'] : [])];
  if (closed.length > 0 && outside.length > 0) {
    const says = `From ${namesOf(closed)} nothing leads to the internet, which ${outside.join(', ')} need.`;
    found.push(refused('vpc', says, `Route 0.0.0.0/0 to a NAT gateway or a proxy: ${PAGE}#network`));
  }
  if (new Set(subnets.map(({ zone }) => zone)).size < 2) {
    const says = 'All subnets are in one availability zone: when it fails, nothing is sent.';
    found.push(warning('vpc', says, 'Add a subnet in another zone to vpc.subnetIds.'));
  }
  return found.length > 0 ? found : [ok('vpc', `${vpc.vpcId} leads to all that the functions call.`)];
}

const namesOf = (subnets: readonly { readonly id: string }[]) => subnets.map(({ id }) => id).join(', ');

/** Services that use a stage's key in their own name. */
export function keyUsers(stage: Stage, region: string): string[] {
  return [
    `logs.${region}.amazonaws.com`,
    ...(stage.channels.includes('email') ? ['events.amazonaws.com'] : []),
    ...(stage.monitoring && stage.alarmTopicArn === undefined ? ['cloudwatch.amazonaws.com'] : []),
    ...(stage.console ? ['cloudfront.amazonaws.com'] : []),
  ];
}

function keyFindings({ key }: PlatformFacts, stage: Stage, region: string): Finding[] {
  if (key === undefined) return [];
  if (key === 'unknown') {
    const says = 'The key encryptionKeyArn could not be read.';
    return [warning('key', says, 'Allow kms:DescribeKey and kms:GetKeyPolicy on it, or see that it is there.')];
  }
  if (!key.usable) {
    const says = 'The key encryptionKeyArn is not enabled, or not symmetric.';
    return [refused('key', says, 'Name an enabled key of the kind SYMMETRIC_DEFAULT.')];
  }
  const missing = keyUsers(stage, region).filter((one) => !key.services.includes(one));
  if (missing.length === 0) return [ok('key', 'The policy of encryptionKeyArn admits what uses it.')];
  const says = `The policy of encryptionKeyArn does not admit ${missing.join(', ')}.`;
  return [refused('key', says, `Add the statements of ${PAGE}#key to it.`)];
}

function topicFindings({ topic }: PlatformFacts, { monitoring }: Stage): Finding[] {
  if (topic === undefined || !monitoring) return [];
  if (topic === 'unknown') {
    const says = 'The topic alarmTopicArn could not be read.';
    return [warning('topic', says, 'Allow sns:GetTopicAttributes on it, or see that it is there.')];
  }
  if (['*', 'cloudwatch.amazonaws.com'].some((one) => topic.services.includes(one))) {
    return [ok('topic', 'The policy of alarmTopicArn admits alarms.')];
  }
  const says = 'The policy of alarmTopicArn does not admit cloudwatch.amazonaws.com: no alarm would arrive.';
  return [refused('topic', says, `Add the statement of ${PAGE}#topic to it.`)];
}
