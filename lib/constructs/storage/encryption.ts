import { RemovalPolicy, Validations } from 'aws-cdk-lib';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { retains } from '../../config/parts.ts';
import type { StageConfig } from '../../config/stage-config.ts';

type Kept = Pick<StageConfig, 'stage' | 'retain'>;

/**
 * A stack that is deleted removes its keys, secrets and logs, except where the stage retains. What a failed first
 * deployment has made goes in any case: it would be paid for, and holds nothing.
 */
export function removalPolicyOf(config: Kept): RemovalPolicy {
  return retains(config) ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;
}

/** Tables refuse to be deleted where the stage retains, also in a failed first deployment. */
export function tableRemovalPolicyOf(config: Kept): RemovalPolicy {
  return retains(config) ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
}

/** What belongs to a part. Only constructs of the part ask for it, and these are made only with it. */
export function presentPart<T>(one: T | undefined, part: string): T {
  if (one === undefined) throw new Error(`The stage is without ${part}`);
  return one;
}

/**
 * The keys of a stage. Recipients have a key of their own, so a reader of the tables still cannot read an address. With
 * a team's key for all, the conditions of our rights keep that apart (`useKeyBy`, `forPurpose`).
 */
export class Encryption extends Construct {
  /** Encrypts the tables at rest, and nothing else. */
  readonly dataKey: IKey;
  /** Wraps the data keys of recipients. Integration secrets may be encrypted with it too. */
  readonly recipientKey: IKey;
  /** The key of the keyed hash, by which recipients are found without decrypting them. */
  readonly recipientHashSecret: Secret;
  readonly #unsubscribeSecret: Secret | undefined;
  readonly #tokenSecret: Secret | undefined;

  constructor(scope: Construct, id: string, config: StageConfig) {
    super(scope, id);
    const removalPolicy = removalPolicyOf(config);
    const key = (id: string, of: string) => {
      if (config.encryptionKeyArn !== undefined) return Key.fromKeyArn(this, id, config.encryptionKeyArn);
      const description = `notification-retry ${config.stage}: ${of}`;
      return new Key(this, id, { description, enableKeyRotation: true, removalPolicy });
    };
    this.dataKey = key('DataKey', 'tables at rest');
    this.recipientKey = key('RecipientKey', 'recipients of notifications');
    const secret = (id: string, description: string, withoutTimer: string) => {
      const made = new Secret(this, id, {
        description: `notification-retry ${config.stage}: ${description}`,
        encryptionKey: this.recipientKey,
        generateSecretString: { passwordLength: 64, excludePunctuation: true },
        removalPolicy,
      });
      Validations.of(made).acknowledge({ id: 'AwsSolutions-SMG4', reason: withoutTimer });
      return made;
    };
    this.recipientHashSecret = secret(
      'RecipientHashSecret',
      "key of the recipients' searchable hash",
      'A new key would make every hash stored so far unsearchable, so it is never rotated by a timer.',
    );
    if (config.newsletters !== false) {
      this.#unsubscribeSecret = secret(
        'UnsubscribeSecret',
        'key of the unsubscribe links',
        'Links in mails of the last two years must stay valid, so an operator rotates it with the old key beside.',
      );
    }
    if (config.api !== false) {
      this.#tokenSecret = secret(
        'TokenSecret',
        'key of the tokens of web pages',
        'A new key ends every token at once, so an operator rotates it with the old key beside for an hour.',
      );
    }
  }

  /** The key that signs the unsubscribe links of newsletters. */
  get unsubscribeSecret(): Secret {
    return presentPart(this.#unsubscribeSecret, 'newsletters');
  }

  get tokenSecret(): Secret {
    return presentPart(this.#tokenSecret, 'api');
  }
}
