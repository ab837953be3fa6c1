import { Stack } from 'aws-cdk-lib';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import type { StageConfig } from '../../config/stage-config.ts';
import { removalPolicyOf } from '../storage/removal-policy.ts';

/** Where alarms and notices go, for whoever operates the stage to subscribe to. */
export class Alerts extends Construct {
  readonly topic: Topic;
  /** Encrypts what waits in the topic. Of its own, as CloudWatch may use it, which must not open a table. */
  readonly key: Key;

  constructor(scope: Construct, id: string, config: StageConfig) {
    super(scope, id);
    this.key = new Key(this, 'Key', {
      description: `notification-retry ${config.stage}: alarms and notices`,
      enableKeyRotation: true,
      removalPolicy: removalPolicyOf(config),
    });
    this.topic = new Topic(this, 'Topic', {
      displayName: `notification-retry ${config.stage}`,
      masterKey: this.key,
      enforceSSL: true,
    });
    // A topic with a policy of its own, such as for enforceSSL, has lost the one that lets the account's alarms in.
    const alarms = new ServicePrincipal('cloudwatch.amazonaws.com', {
      conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
    });
    this.topic.grantPublish(alarms);
    // Without the condition: CloudWatch does not name the source when it asks for the key.
    this.key.grant(new ServicePrincipal('cloudwatch.amazonaws.com'), 'kms:Decrypt', 'kms:GenerateDataKey*');
    for (const address of config.alarmEmails) this.topic.addSubscription(new EmailSubscription(address));
  }
}
