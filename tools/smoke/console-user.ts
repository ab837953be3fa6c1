import { createHmac } from 'node:crypto';
import { CfnOutput } from 'aws-cdk-lib';
import { CfnUserPoolClient, UserPool } from 'aws-cdk-lib/aws-cognito';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import type { NotificationRetryStack } from '../../lib/notification-retry-stack.ts';

/** The output with the name of the function that makes an operator of the console. */
export const CONSOLE_USER_OUTPUT = 'SmokeConsoleUserFunction';

/** The code that an authenticator shows now (RFC 6238). @param secret in base32 */
export function codeOf(secret: string): string {
  const bits = [...secret].map((one) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(one).toString(2).padStart(5, '0'));
  const bytes = bits.join('').match(/.{8}/g) ?? [];
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const mac = createHmac('sha1', Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2))))
    .update(counter)
    .digest();
  const at = (mac[19] ?? 0) & 15;
  return String((mac.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

/** What the function answers when it has made somebody; `verify` takes the session and the first code. */
export interface MadeUser {
  readonly session: string;
  /** Of the authenticator, in base32. */
  readonly secret: string;
}

/** As an administrator makes somebody, in a function: Lambda's runtime brings the client of Cognito. */
const MAKE = `
const cognito = require('@aws-sdk/client-cognito-identity-provider');
const client = new cognito.CognitoIdentityProviderClient({});
const { POOL: UserPoolId, CLIENT: ClientId } = process.env;
const send = (name, input) => client.send(new cognito[name + 'Command'](input));

exports.handler = async ({ email, password, session, code }) => {
  const user = { UserPoolId, Username: email };
  if (code) {
    await send('VerifySoftwareToken', { Session: session, UserCode: code });
    await send('AdminSetUserMFAPreference', { ...user, SoftwareTokenMfaSettings: { Enabled: true, PreferredMfa: true } });
    return {};
  }
  const UserAttributes = [{ Name: 'email', Value: email }, { Name: 'email_verified', Value: 'true' }];
  await send('AdminCreateUser', { ...user, UserAttributes, MessageAction: 'SUPPRESS' });
  await send('AdminSetUserPassword', { ...user, Password: password, Permanent: true });
  await send('AdminAddUserToGroup', { ...user, GroupName: 'operator' });
  const AuthParameters = { USERNAME: email, PASSWORD: password };
  const AuthFlow = 'ADMIN_USER_PASSWORD_AUTH';
  const begun = await send('AdminInitiateAuth', { UserPoolId, ClientId, AuthFlow, AuthParameters });
  const { SecretCode, Session } = await send('AssociateSoftwareToken', { Session: begun.Session });
  return { session: Session, secret: SecretCode };
};`;

const ACTIONS = ['CreateUser', 'SetUserPassword', 'AddUserToGroup', 'InitiateAuth', 'SetUserMFAPreference'];

/** A client of the stack's user pool that takes a password, which the console's own does not, and the function. */
export function addConsoleUser(stack: NotificationRetryStack): void {
  const pool = stack.notificationRetry.console?.node.findAll().find((one) => one instanceof UserPool);
  if (pool === undefined) return;
  const client = new CfnUserPoolClient(stack, 'SmokeSignIn', {
    userPoolId: pool.userPoolId,
    explicitAuthFlows: ['ALLOW_ADMIN_USER_PASSWORD_AUTH', 'ALLOW_REFRESH_TOKEN_AUTH'],
  });
  const made = new LambdaFunction(stack, 'SmokeConsoleUser', {
    runtime: Runtime.NODEJS_24_X,
    handler: 'index.handler',
    code: Code.fromInline(MAKE),
    environment: { POOL: pool.userPoolId, CLIENT: client.ref },
  });
  made.addToRolePolicy(
    new PolicyStatement({
      actions: ACTIONS.map((action) => `cognito-idp:Admin${action}`),
      resources: [pool.userPoolArn],
    }),
  );
  new CfnOutput(stack, CONSOLE_USER_OUTPUT, { value: made.functionName });
}
