import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { limits } from './lean.ts';

// A sweep that cannot be continued is repeated by EventBridge.
const client = new LambdaClient({ maxAttempts: 2, requestHandler: limits(2_000) });

/**
 * Invokes this function again, without waiting for the result. In a module of its own, so that the client is loaded
 * only when the work does not fit into one invocation.
 */
export async function invokeAgain(event: object): Promise<void> {
  const FunctionName = process.env['AWS_LAMBDA_FUNCTION_NAME'];
  await client.send(new InvokeCommand({ FunctionName, InvocationType: 'Event', Payload: JSON.stringify(event) }));
}
