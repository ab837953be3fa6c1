import { Annotations, Aspects, CfnResource, CrossStackReferences, ReferenceStrength, Stack, Token } from 'aws-cdk-lib';
import type { Construct, IConstruct } from 'constructs';
import { STAGE_IN_TEMPLATE } from '../../../src/core/model/setting.ts';
import type { StageConfig } from '../../config/stage-config.ts';

/** The stacks of parts, each with the stack that a team deploys. */
const PARTS = new WeakMap<Stack, Stack>();

export const isOfPart = (scope: Construct): boolean => PARTS.has(Stack.of(scope));

/** The stack that a team deploys: of nested ones the outermost. Commands find it by its name. */
export function deployedStack(scope: Construct): Stack {
  const stack = Stack.of(scope);
  const around = stack.nestedStackParent ?? PARTS.get(stack);
  return around === undefined ? stack : deployedStack(around);
}

/**
 * A stack for a part that holds no data, beside the one that is deployed. It refers to that weakly: by an export, nothing
 * could go from there that the part once watched.
 */
export function partStack(scope: Construct, part: 'Console' | 'Monitoring', { stage, tags }: StageConfig): Stack {
  const deployed = deployedStack(scope);
  if (deployed.node.scope === undefined) throw new Error('a stack per part needs an app');
  const { account, region, stackName } = deployed;
  const name = `${stackName}-${part.toLowerCase()}`;
  const stack = new Stack(deployed.node.scope, `${deployed.node.id}-${part.toLowerCase()}`, {
    description: `The ${part.toLowerCase()} of ${stackName} (notification-retry ${stage})`,
    stackName: name,
    tags: { ...tags },
    env: { ...(!Token.isUnresolved(account) && { account }), ...(!Token.isUnresolved(region) && { region }) },
  });
  CrossStackReferences.of(stack).consume(ReferenceStrength.WEAK);
  PARTS.set(stack, deployed);
  return stack;
}

/** CloudFormation takes no more than 500, and says so after minutes. */
const MANY_RESOURCES = 450;

/** Counts at the synthesis, when all of a team's own resources are there, too. */
export function warnOfManyResources(stack: Stack): void {
  const visit = (one: IConstruct) => {
    if (one !== stack) return;
    const all = stack.node.findAll().filter((each) => CfnResource.isCfnResource(each) && Stack.of(each) === stack);
    if (all.length <= MANY_RESOURCES) return;
    Annotations.of(stack).addWarningV2(
      'notification-retry:resources',
      `the stack has ${all.length} resources, and CloudFormation takes 500: set stackPerPart, or leave parts out`,
    );
  };
  Aspects.of(stack).add({ visit });
}

/** Leaves in the template what `ops preflight --template` reads of a stage; null is what only the deployment knows. */
export function describeStage(scope: Construct, config: StageConfig): void {
  const { stage, senderAddress, channels, outcomes, monitoring, retain, newsletters, console, newsletter } = config;
  const { encryptionKeyArn, alarmTopicArn, vpc, reservedConcurrency } = config;
  deployedStack(scope).addMetadata(STAGE_IN_TEMPLATE, {
    stage,
    senderAddress,
    channels,
    outcomes,
    monitoring,
    retain,
    newsletters,
    reservedConcurrency,
    api: config.api !== false,
    console: console === 'off' ? 'off' : 'on',
    newsletter: { senders: newsletter.senders },
    encryptionKeyArn: known(encryptionKeyArn),
    alarmTopicArn: known(alarmTopicArn),
    vpc:
      vpc && [vpc.vpcId, ...vpc.subnetIds, ...vpc.securityGroupIds].some((id) => Token.isUnresolved(id)) ? null : vpc,
  });
}

const known = (text: string | undefined) => (Token.isUnresolved(text) ? null : text);

interface Lack {
  /** Of the warning, by which a team acknowledges it. */
  readonly id: string;
  readonly regions: RegExp;
  readonly wants: (config: StageConfig) => boolean;
  readonly says: string;
}

const onTheWeb = ({ console }: StageConfig) => console !== 'off';
const LOCALLY = 'leave console "off", and ops console serves it on your machine';

/** What AWS does not have everywhere. A stack that wants it would fail to be deployed, after minutes. */
const LACKS: readonly Lack[] = [
  {
    regions: /^cn-/,
    wants: ({ channels }) => channels.includes('email'),
    id: 'no-ses',
    says: 'China has no SES: leave email out of channels, with newsletters false, or deploy the stage elsewhere',
  },
  {
    regions: /^cn-/,
    wants: onTheWeb,
    id: 'no-console',
    says: `China has no user pools, and its CloudFront serves nothing under its own domain: ${LOCALLY}`,
  },
  { regions: /^us-gov-/, wants: onTheWeb, id: 'no-console', says: `GovCloud has no CloudFront: ${LOCALLY}` },
];

/** Says at the synthesis what the region of the stack lacks. A stack without a region is for any. */
export function warnOfRegion(scope: Construct, config: StageConfig): void {
  const { region } = Stack.of(scope);
  for (const { regions, wants, id, says } of LACKS) {
    if (regions.test(region) && wants(config)) {
      Annotations.of(scope).addWarningV2(`notification-retry:${id}`, says);
    }
  }
}
