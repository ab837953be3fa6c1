import { Stack } from 'aws-cdk-lib';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { monitoringOf } from '../../config/parts.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import { removalPolicyOf } from '../storage/encryption.ts';

/** The topic of alarms and notices, to which the operators of the stage subscribe. */
export class Alerts extends Construct {
  readonly topic: Topic;
  /**
   * Encrypts the messages in the topic: CloudWatch may use this key, so it must not be the key of the tables. They name
   * no recipient, and `critical` monitoring saves the dollar a month.
   */
  readonly key?: Key;

  constructor(scope: Construct, id: string, config: StageConfig) {
    super(scope, id);
    if (monitoringOf(config) === 'full') {
      this.key = new Key(this, 'Key', {
        description: `notification-retry ${config.stage}: alarms and notices`,
        enableKeyRotation: true,
        removalPolicy: removalPolicyOf(config),
      });
    }
    this.topic = new Topic(this, 'Topic', {
      displayName: `notification-retry ${config.stage}`,
      ...(this.key && { masterKey: this.key }),
      enforceSSL: true,
    });
    // enforceSSL gives the topic a policy, which replaces the default one that admits the account's alarms.
    const alarms = new ServicePrincipal('cloudwatch.amazonaws.com', {
      conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
    });
    this.topic.grantPublish(alarms);
    // This grant has no condition: CloudWatch does not name the source when it uses the key.
    this.key?.grant(new ServicePrincipal('cloudwatch.amazonaws.com'), 'kms:Decrypt', 'kms:GenerateDataKey*');
    for (const address of config.alarmEmails) this.topic.addSubscription(new EmailSubscription(address));
  }
}
