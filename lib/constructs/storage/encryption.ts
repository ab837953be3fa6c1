import { Validations } from 'aws-cdk-lib';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { StageConfig } from '../../config/stage-config.ts';
import { removalPolicyOf } from './removal-policy.ts';

/**
 * The keys of a stage. Recipients have a key of their own, so a reader of the tables still cannot read an address.
 */
export class Encryption extends Construct {
  /** Encrypts the tables at rest, and nothing else. */
  readonly dataKey: Key;
  /** Wraps the data keys of recipients. Integration secrets may be encrypted with it too. */
  readonly recipientKey: Key;
  /** The key of the keyed hash, by which recipients are found without decrypting them. */
  readonly recipientHashSecret: Secret;
  /** The key that signs the unsubscribe links of newsletters. */
  readonly unsubscribeSecret: Secret;
  /** The key that signs the tokens of web pages. */
  readonly tokenSecret: Secret;

  constructor(scope: Construct, id: string, config: StageConfig) {
    super(scope, id);
    const removalPolicy = removalPolicyOf(config);
    this.dataKey = new Key(this, 'DataKey', {
      description: `notification-retry ${config.stage}: tables at rest`,
      enableKeyRotation: true,
      removalPolicy,
    });
    this.recipientKey = new Key(this, 'RecipientKey', {
      description: `notification-retry ${config.stage}: recipients of notifications`,
      enableKeyRotation: true,
      removalPolicy,
    });
    this.recipientHashSecret = new Secret(this, 'RecipientHashSecret', {
      description: `notification-retry ${config.stage}: key of the recipients' searchable hash`,
      encryptionKey: this.recipientKey,
      generateSecretString: { passwordLength: 64, excludePunctuation: true },
      removalPolicy,
    });
    Validations.of(this.recipientHashSecret).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason: 'A new key would make every hash stored so far unsearchable, so it is never rotated by a timer.',
    });
    this.unsubscribeSecret = new Secret(this, 'UnsubscribeSecret', {
      description: `notification-retry ${config.stage}: key of the unsubscribe links`,
      encryptionKey: this.recipientKey,
      generateSecretString: { passwordLength: 64, excludePunctuation: true },
      removalPolicy,
    });
    Validations.of(this.unsubscribeSecret).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason:
        'Links in mails of the last two years must stay valid, so an operator rotates it with the old key beside.',
    });
    this.tokenSecret = new Secret(this, 'TokenSecret', {
      description: `notification-retry ${config.stage}: key of the tokens of web pages`,
      encryptionKey: this.recipientKey,
      generateSecretString: { passwordLength: 64, excludePunctuation: true },
      removalPolicy,
    });
    Validations.of(this.tokenSecret).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason: 'A new key ends every token at once, so an operator rotates it with the old key beside for an hour.',
    });
  }
}
