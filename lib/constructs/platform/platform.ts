import { Aspects, CfnResource, Stack, TagManager, Tags } from 'aws-cdk-lib';
import { PolicyDocument } from 'aws-cdk-lib/aws-iam';
import type { Construct, IConstruct } from 'constructs';
import type { StageConfig } from '../../config/stage-config.ts';
import { useInterfaces } from '../function/permissions.ts';

type Brought = Pick<StageConfig, 'vpc' | 'encryptionKeyArn' | 'permissionsBoundaryArn' | 'tags'>;
type Properties = Readonly<Record<string, unknown>>;

const FUNCTION = 'AWS::Lambda::Function';
const ROLE = 'AWS::IAM::Role';

/** The properties of every resource of a type, whoever made it; `undefined` takes one away. */
function propertiesOf({ vpc, encryptionKeyArn: key, permissionsBoundaryArn }: Brought): Record<string, Properties> {
  return {
    ...(vpc && { [FUNCTION]: { VpcConfig: { SubnetIds: vpc.subnetIds, SecurityGroupIds: vpc.securityGroupIds } } }),
    ...(permissionsBoundaryArn && { [ROLE]: { PermissionsBoundary: permissionsBoundaryArn } }),
    ...(key && {
      'AWS::SQS::Queue': { KmsMasterKeyId: key, SqsManagedSseEnabled: undefined },
      'AWS::SNS::Topic': { KmsMasterKeyId: key },
      'AWS::Logs::LogGroup': { KmsKeyId: key },
      'AWS::S3::Bucket': {
        BucketEncryption: {
          ServerSideEncryptionConfiguration: [
            {
              BucketKeyEnabled: true,
              ServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms', KMSMasterKeyID: key },
            },
          ],
        },
      },
    }),
  };
}

/** CDK writes the functions of its custom resources beside all constructs, and some without its own types. */
const isOfCdk = ({ node }: IConstruct): boolean => node.path.includes('/Custom::');

/** Gives what a platform team brings to every resource below these scopes, also to those that are added later. */
export function bringPlatform(config: Brought, ...scopes: readonly Construct[]): void {
  const properties = propertiesOf(config);
  const tags = Object.entries(config.tags).map(([Key, Value]) => ({ Key, Value }));
  const visit = (one: IConstruct) => {
    if (!CfnResource.isCfnResource(one)) return;
    const type = one.cfnResourceType;
    const more = isOfCdk(one) && (type === FUNCTION || type === ROLE) ? ofCdk(one, config, tags) : {};
    for (const [name, value] of Object.entries({ ...properties[type], ...more })) one.addPropertyOverride(name, value);
  };
  for (const scope of scopes) {
    Aspects.of(scope).add({ visit });
    for (const { Key, Value } of tags) Tags.of(scope).add(Key, Value);
  }
}

function ofCdk(one: CfnResource, { vpc }: Brought, tags: readonly object[]): Properties {
  const rights = { PolicyName: 'network', PolicyDocument: new PolicyDocument({ statements: [useInterfaces()] }) };
  return {
    ...(tags.length > 0 && !TagManager.isTaggable(one) && { Tags: tags }),
    ...(vpc && one.cfnResourceType === ROLE && { Policies: [rights] }),
  };
}

/** The functions of CDK's custom resources in the stack of a scope. */
export function madeByCdk(scope: Construct): readonly Construct[] {
  const { children } = Stack.of(scope).node;
  return children.filter(({ node: { id } }) =>
    /^Custom::(CDKBucketDeployment|S3AutoDeleteObjects)/.test(id),
  ) as Construct[];
}
