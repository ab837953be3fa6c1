import { describe, expect, it } from 'vitest';
import { DeploymentNotFoundError } from '../../src/adapters/deployment/deployment.ts';
import { describeError, OperatorError } from '../../src/terminal/errors.ts';

function named(name: string, message: string, more: object = {}): Error {
  return Object.assign(new Error(message), { name, ...more });
}

describe('the message to the operator', () => {
  it.each([
    [new OperatorError('Do this.', 2), 2, /^Do this\.$/],
    [new DeploymentNotFoundError('Start it with: npm run local'), 1, /^Start it with: npm run local$/],
    [
      named('AccessDeniedException', 'User x is not authorized to perform: dynamodb:Query'),
      1,
      /^You lack a right that this needs \(User x .*dynamodb:Query\): docs\/runbook\.md, "Operator commands"/,
    ],
    [named('CredentialsProviderError', 'Could not load credentials'), 1, /sign in to the deployment's account, or add/],
    [named('ExpiredTokenException', 'expired'), 1, /sign in/],
    [
      named('AggregateError', '', { code: 'ECONNREFUSED' }),
      1,
      /cannot be reached \(ECONNREFUSED\): is it still running\?/,
    ],
    [named('ThrottlingException', 'Rate exceeded.'), 1, /ThrottlingException: Rate exceeded\. Nothing is lost; run it/],
  ])('%s', (error, exitCode, message) => {
    const described = describeError(error);
    expect(described.exitCode).toBe(exitCode);
    expect(described.message).toMatch(message);
    expect(described.message).not.toContain('\n');
  });
});
