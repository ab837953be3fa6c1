import type { EC2ClientConfig, RouteTable, VpcEndpoint } from '@aws-sdk/client-ec2';
import type { KMSClientConfig } from '@aws-sdk/client-kms';
import type { SNSClientConfig } from '@aws-sdk/client-sns';
import { type Access, BASE } from './account-facts.ts';

export interface Network {
  readonly vpcId: string;
  readonly subnetIds: readonly string[];
  readonly securityGroupIds: readonly string[];
}

/** What a platform team brings, as a stage names it; null where only the deployment knows it. */
export interface Brought {
  readonly vpc?: Network | null | undefined;
  readonly encryptionKeyArn?: string | null | undefined;
  readonly alarmTopicArn?: string | null | undefined;
}

interface SubnetFacts {
  readonly id: string;
  readonly zone: string;
  /** Whether a route leads out that a function without a public address can take. */
  readonly leaves: boolean;
  /** Services that a gateway endpoint of its route table leads to. */
  readonly gateways: readonly string[];
}

/** What AWS says of what a team brings. A part is absent where the team brings none, `unknown` where AWS does not say. */
export interface PlatformFacts {
  readonly network?:
    | {
        /** Those of the stage's that are in its VPC. */
        readonly subnets: readonly SubnetFacts[];
        readonly groups: readonly string[];
        /** Services with an interface endpoint that their own names lead to. */
        readonly endpoints: readonly string[];
      }
    | 'unknown';
  readonly key?: { readonly usable: boolean; readonly services: readonly string[] } | 'unknown';
  readonly topic?: { readonly services: readonly string[] } | 'unknown';
}

export async function readPlatform(brought: Brought, given: Access = {}): Promise<PlatformFacts> {
  const access: Access = { ...BASE, ...given };
  const { vpc, encryptionKeyArn, alarmTopicArn } = brought;
  const said = async <T>(read: Promise<T>) => read.catch(() => 'unknown' as const);
  return {
    ...(vpc && { network: await said(networkOf(vpc, access)) }),
    ...(encryptionKeyArn && { key: await said(keyOf(encryptionKeyArn, access)) }),
    ...(alarmTopicArn && { topic: await said(topicOf(alarmTopicArn, access)) }),
  };
}

async function networkOf({ vpcId, subnetIds, securityGroupIds }: Network, access: Access) {
  const ec2 = await import('@aws-sdk/client-ec2');
  const client = new ec2.EC2Client(access as EC2ClientConfig);
  const of = [{ Name: 'vpc-id', Values: [vpcId] }];
  const [{ Subnets = [] }, { SecurityGroups = [] }, { RouteTables = [] }, { VpcEndpoints = [] }] = await Promise.all([
    // By filters: asked for by its id, one that is not there would be an error that hides the others.
    client.send(new ec2.DescribeSubnetsCommand({ Filters: [...of, { Name: 'subnet-id', Values: [...subnetIds] }] })),
    client.send(
      new ec2.DescribeSecurityGroupsCommand({ Filters: [...of, { Name: 'group-id', Values: [...securityGroupIds] }] }),
    ),
    client.send(new ec2.DescribeRouteTablesCommand({ Filters: of })),
    client.send(new ec2.DescribeVpcEndpointsCommand({ Filters: of })),
  ]);
  const available = VpcEndpoints.filter(({ State }) => State?.toLowerCase() === 'available');
  return {
    subnets: Subnets.map(({ SubnetId: id = '', AvailabilityZone: zone = '' }) => {
      const routes = routesOf(id, RouteTables);
      const gateways = available.filter(({ RouteTableIds = [] }) =>
        RouteTableIds.includes(routes?.RouteTableId ?? '-'),
      );
      return { id, zone, leaves: leaves(routes), gateways: gateways.map(serviceOf) };
    }),
    groups: SecurityGroups.map(({ GroupId = '' }) => GroupId),
    endpoints: available.filter(({ PrivateDnsEnabled }) => PrivateDnsEnabled === true).map(serviceOf),
  };
}

/** The table of a subnet that names none is the main one. */
function routesOf(subnet: string, tables: readonly RouteTable[]): RouteTable | undefined {
  const having = (is: (one: NonNullable<RouteTable['Associations']>[number]) => boolean) =>
    tables.find(({ Associations = [] }) => Associations.some(is));
  return having(({ SubnetId }) => SubnetId === subnet) ?? having(({ Main }) => Main === true);
}

/** An internet gateway lets out only what has a public address, which no function has. */
function leaves(table: RouteTable | undefined): boolean {
  return (table?.Routes ?? []).some(
    ({ DestinationCidrBlock, GatewayId, State }) =>
      DestinationCidrBlock === '0.0.0.0/0' && State !== 'blackhole' && !GatewayId?.startsWith('igw-'),
  );
}

/** `com.amazonaws.us-east-1.sqs` */
const serviceOf = ({ ServiceName = '' }: VpcEndpoint): string => ServiceName.split('.').at(-1) ?? '';

async function keyOf(KeyId: string, access: Access) {
  const { KMSClient, DescribeKeyCommand, GetKeyPolicyCommand } = await import('@aws-sdk/client-kms');
  const client = new KMSClient(access as KMSClientConfig);
  const { KeyMetadata } = await client.send(new DescribeKeyCommand({ KeyId }));
  const { Policy } = await client.send(new GetKeyPolicyCommand({ KeyId, PolicyName: 'default' }));
  const usable = KeyMetadata?.KeyState === 'Enabled' && KeyMetadata.KeySpec === 'SYMMETRIC_DEFAULT';
  return { usable, services: admittedBy(Policy) };
}

async function topicOf(TopicArn: string, access: Access) {
  const { SNSClient, GetTopicAttributesCommand } = await import('@aws-sdk/client-sns');
  const client = new SNSClient(access as SNSClientConfig);
  const { Attributes } = await client.send(new GetTopicAttributesCommand({ TopicArn }));
  return { services: admittedBy(Attributes?.['Policy']) };
}

/** The services that a policy admits; `*` for everybody, as in the one that SNS gives a topic, which admits alarms. */
function admittedBy(policy = '{}'): string[] {
  const statements: readonly Record<string, unknown>[] = [JSON.parse(policy)['Statement'] ?? []].flat();
  return statements
    .filter(({ Effect }) => Effect === 'Allow')
    .flatMap(({ Principal }) => {
      if (Principal === '*') return ['*'];
      const { Service, AWS } = Object(Principal);
      return [...[Service ?? []].flat(), ...[AWS ?? []].flat().filter((who) => who === '*')].map(String);
    });
}
