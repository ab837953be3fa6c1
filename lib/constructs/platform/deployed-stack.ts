import { Stack, Token } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { STAGE_IN_TEMPLATE } from '../../../src/core/model/setting.ts';
import type { StageConfig } from '../../config/stage-config.ts';

/** The stack that a team deploys: of nested ones the outermost. Commands find it by its name. */
export function deployedStack(scope: Construct): Stack {
  const stack = Stack.of(scope);
  return stack.nestedStackParent === undefined ? stack : deployedStack(stack.nestedStackParent);
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
