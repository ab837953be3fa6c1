import { Duration, Stack, Validations } from 'aws-cdk-lib';
import {
  AccountRecovery,
  CfnUserPoolGroup,
  ClientAttributes,
  FeaturePlan,
  Mfa,
  OAuthScope,
  UserPool,
  UserPoolClient,
} from 'aws-cdk-lib/aws-cognito';
import type { Construct } from 'constructs';
import type { ConsoleSettings } from '../../config/console-config.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import { removalPolicyOf } from '../storage/encryption.ts';

/** Where people sign in: an issuer of the organisation, or a user pool of the stack. */
export interface SignIn {
  readonly issuer: string;
  readonly clientId: string;
  readonly scope: string;
  /** Scopes of which a token must have one: an ID token has none. Absent where the issuer's names for them are unknown. */
  readonly required?: readonly string[];
  readonly roleClaim: string;
  /** The origins that the page asks for tokens. */
  readonly origins: readonly string[];
}

/** Somebody who is taken out can act no longer than this. */
const TOKEN_LIFE = Duration.minutes(15);
const SCOPE = 'openid email profile';

interface SignInProps {
  readonly config: StageConfig;
  readonly settings: ConsoleSettings;
  /** Where the issuer sends people back to. */
  readonly pageUrl: string;
}

/** @param users where the pool is: it outlives the page, and its client, which names the page, does not */
export function createSignIn(scope: Construct, users: Construct, props: SignInProps): SignIn {
  const { config, settings, pageUrl } = props;
  if ('issuer' in settings) {
    const { issuer, clientId, scope: wanted = SCOPE, roleClaim = 'groups' } = settings;
    return { issuer, clientId, scope: wanted, roleClaim, origins: [new URL(issuer).origin] };
  }
  const pool = userPool(users, config);
  const { region } = Stack.of(scope);
  const { domainPrefix } = settings.cognito;
  pool.addDomain('Domain', { cognitoDomain: { domainPrefix } });
  for (const groupName of [...settings.operators, ...settings.viewers]) {
    new CfnUserPoolGroup(users, `Group-${groupName}`, { userPoolId: pool.userPoolId, groupName });
  }
  const [place, id] = scope === users ? ([pool, 'Page'] as const) : ([scope, 'SignIn'] as const);
  const client = new UserPoolClient(place, id, {
    userPool: pool,
    generateSecret: false,
    preventUserExistenceErrors: true,
    // Absent, Cognito would also take passwords without its sign-in page, and let people change their address. A flow of
    // one's own needs a function that the pool does not have; that of refresh tokens is not taken beside their rotation.
    authFlows: { custom: true },
    writeAttributes: new ClientAttributes().withStandardAttributes({ locale: true }),
    oAuth: {
      flows: { authorizationCodeGrant: true },
      scopes: [OAuthScope.OPENID],
      callbackUrls: [pageUrl],
      logoutUrls: [pageUrl],
    },
    accessTokenValidity: TOKEN_LIFE,
    idTokenValidity: TOKEN_LIFE,
    refreshTokenValidity: Duration.hours(1),
    // Each is taken once, so that one which was stolen is noticed (RFC 9700, 2.2.2); the time is for answers that got lost.
    refreshTokenRotationGracePeriod: Duration.seconds(30),
    enableTokenRevocation: true,
  });
  const issuer = `https://cognito-idp.${region}.amazonaws.com/${pool.userPoolId}`;
  return {
    issuer,
    clientId: client.userPoolClientId,
    scope: 'openid',
    required: ['openid'],
    roleClaim: settings.roleClaim ?? 'cognito:groups',
    // Discovery and token endpoint are at two hosts.
    origins: [
      `https://cognito-idp.${region}.amazonaws.com`,
      `https://${domainPrefix}.auth.${region}.amazoncognito.com`,
    ],
  };
}

/** Administrators make the users; a second factor is required. */
function userPool(scope: Construct, config: StageConfig): UserPool {
  const pool = new UserPool(scope, 'Users', {
    userPoolName: `notification-retry-${config.stage}-console`,
    selfSignUpEnabled: false,
    signInAliases: { email: true },
    accountRecovery: AccountRecovery.EMAIL_ONLY,
    mfa: Mfa.REQUIRED,
    mfaSecondFactor: { otp: true, sms: false },
    passwordPolicy: {
      minLength: 12,
      requireDigits: true,
      requireLowercase: true,
      requireUppercase: true,
      requireSymbols: true,
    },
    featurePlan: FeaturePlan.ESSENTIALS,
    removalPolicy: removalPolicyOf(config),
  });
  Validations.of(pool).acknowledge({
    id: 'AwsSolutions-COG8',
    reason: 'Its threat protection is paid per user; a second factor is required of everybody, and nobody signs up.',
  });
  return pool;
}
