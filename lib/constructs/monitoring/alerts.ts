import { Stack } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { monitoringOf } from '../../config/parts.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import type { WildcardPermission } from '../function/nag-acknowledgements.ts';
import { allow, SEND_ENCRYPTED, useKeyOf, viaService } from '../function/permissions.ts';
import { removalPolicyOf } from '../storage/encryption.ts';

/** The topic of alarms and notices, to which the operators of the stage subscribe. */
export class Alerts extends Construct {
  readonly topic: ITopic;
  /** The rights to publish: of the topic, and of the key that encrypts its messages. */
  readonly publishing: readonly PolicyStatement[];
  readonly wildcards: readonly WildcardPermission[];

  constructor(scope: Construct, id: string, config: StageConfig) {
    super(scope, id);
    const { alarmTopicArn, encryptionKeyArn } = config;
    const key = alarmTopicArn === undefined && encryptionKeyArn === undefined ? this.ownKey(config) : undefined;
    this.topic =
      alarmTopicArn === undefined ? this.ownTopic(config, key) : Topic.fromTopicArn(this, 'Topic', alarmTopicArn);
    this.publishing = [
      allow(['sns:Publish'], [this.topic.topicArn]),
      ...(key ? [allow(SEND_ENCRYPTED, [key.keyArn])] : []),
      ...(alarmTopicArn === undefined ? useKeyOf('sns', this, config) : []),
    ];
    this.wildcards = alarmTopicArn === undefined ? [] : [keyOfTopic(this.topic)];
    for (const address of config.alarmEmails) this.topic.addSubscription(new EmailSubscription(address));
  }

  /**
   * CloudWatch may use this key, so it must not be the key of the tables. The messages name no recipient, and `critical`
   * monitoring saves the dollar a month.
   */
  private ownKey(config: StageConfig): Key | undefined {
    if (monitoringOf(config) !== 'full') return undefined;
    const key = new Key(this, 'Key', {
      description: `notification-retry ${config.stage}: alarms and notices`,
      enableKeyRotation: true,
      removalPolicy: removalPolicyOf(config),
    });
    // This grant has no condition: CloudWatch does not name the source when it uses the key.
    key.grant(new ServicePrincipal('cloudwatch.amazonaws.com'), 'kms:Decrypt', 'kms:GenerateDataKey*');
    return key;
  }

  private ownTopic(config: StageConfig, key: Key | undefined): Topic {
    const topic = new Topic(this, 'Topic', {
      displayName: `notification-retry ${config.stage}`,
      ...(key && { masterKey: key }),
      enforceSSL: true,
    });
    // enforceSSL gives the topic a policy, which replaces the default one that admits the account's alarms.
    const alarms = new ServicePrincipal('cloudwatch.amazonaws.com', {
      conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
    });
    topic.grantPublish(alarms);
    return topic;
  }
}

/** A team's topic may have a key of its own, which only the topic knows; SNS names the topic whenever it uses the key. */
function keyOfTopic({ stack, topicArn }: ITopic): WildcardPermission {
  const resource = stack.formatArn({ service: 'kms', account: '*', resource: 'key', resourceName: '*' });
  const statement = new PolicyStatement({
    actions: [...SEND_ENCRYPTED],
    resources: [resource],
    conditions: {
      StringEquals: { 'kms:ViaService': viaService('sns', stack), 'kms:EncryptionContext:aws:sns:topicArn': topicArn },
    },
  });
  return { statement, resource, reason: "Which key the team's topic has is not known; the condition names the topic." };
}
