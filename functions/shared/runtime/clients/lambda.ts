import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { limits } from './lean.ts';

// A sweep that cannot be continued fails, and Lambda runs it again.
const client = new LambdaClient({ maxAttempts: 2, requestHandler: limits(2_000) });

/**
 * Invokes this function again, or the one that is named, without waiting for the result. In a module of its own, so that
 * the client is loaded only when the work does not fit into one invocation.
 */
export async function invokeAgain(
  event: object,
  FunctionName = process.env['AWS_LAMBDA_FUNCTION_NAME'],
): Promise<void> {
  await client.send(new InvokeCommand({ FunctionName, InvocationType: 'Event', Payload: JSON.stringify(event) }));
}
