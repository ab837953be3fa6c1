import { expect, it } from 'vitest';
import { DeploymentNotFoundError } from '../../src/adapters/deployment/deployment.ts';
import { SecretUnavailableError } from '../../src/adapters/secrets/secret-source.ts';
import { describeError, OperatorError } from '../../src/terminal/errors.ts';

function named(name: string, message: string, more: object = {}): Error {
  return Object.assign(new Error(message), { name, ...more });
}

it.each([
  [new OperatorError('Do this.', 2), 2, /^Do this\.$/],
  [new DeploymentNotFoundError('Start it with: npm run local'), 1, /^Start it with: npm run local$/],
  [
    named('AccessDeniedException', 'User x is not authorized to perform: dynamodb:Query on resource: y'),
    1,
    /^You lack the right dynamodb:Query\. docs\/runbook\.md, "Operator commands", lists .* AWS says: User x .*: y$/,
  ],
  // SQS does not keep the case of an action's name; IAM does not mind.
  [named('AccessDenied', 'User: x is not authorized to perform: sqs:sendmessage on'), 1, /the right sqs:sendmessage\./],
  [named('KMS.AccessDenied', 'not authorized to perform: kms:GenerateDataKey on'), 1, /right kms:GenerateDataKey\./],
  [
    named('AccessDenied', "User `arn:x' is not authorized to perform `ses:SendEmail' on resource `y'"),
    1,
    /^You lack the right ses:SendEmail\./,
  ],
  [
    new Error('DynamoDB refused a statement: AccessDenied: x is not authorized to perform: dynamodb:PartiQLUpdate on'),
    1,
    /^You lack the right dynamodb:PartiQLUpdate\./,
  ],
  [
    new DeploymentNotFoundError('The stack s cannot be read: … Sign in', {
      cause: named('AccessDenied', 'User x is not authorized to perform: cloudformation:DescribeStacks on y'),
    }),
    1,
    /^You lack the right cloudformation:DescribeStacks\./,
  ],
  [
    new SecretUnavailableError('denied', 'The secret s cannot be read', {
      cause: new Error('GetParameterError', {
        cause: named('AccessDeniedException', 'x is not authorized to perform: secretsmanager:GetSecretValue on'),
      }),
    }),
    1,
    /^You lack the right secretsmanager:GetSecretValue\./,
  ],
  [
    named('AccessDenied', 'Access to the resource x is denied.'),
    1,
    /^You lack a right that AWS does not name\. .*is denied$/,
  ],
  [named('CredentialsProviderError', 'Could not load credentials'), 1, /sign in to the deployment's account, or add/],
  [named('ExpiredTokenException', 'expired'), 1, /sign in/],
  [named('Error', 'Region is missing'), 1, /^There is no AWS region: set AWS_REGION .*or add --local\.$/],
  [
    named('AggregateError', '', { code: 'ECONNREFUSED' }),
    1,
    /cannot be reached \(ECONNREFUSED\): is it still running\?/,
  ],
  [named('ThrottlingException', 'Rate exceeded.'), 1, /ThrottlingException: Rate exceeded\. Nothing is lost; run it/],
])('the message to the operator %s', (error, exitCode, message) => {
  const described = describeError(error);
  expect(described.exitCode).toBe(exitCode);
  expect(described.message).toMatch(message);
  expect(described.message).not.toContain('\n');
});
