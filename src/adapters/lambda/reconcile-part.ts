import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import * as v from 'valibot';
import { type ReconcileAnswer, type ReconcilePart, reconcileAnswer } from './reconcile-event.ts';

/**
 * Has the reconciler carry out a part of an operator's scan, and waits for it.
 * @throws Error with the message of the function when it failed
 */
export async function reconcilePart(
  client: LambdaClient,
  FunctionName: string,
  part: ReconcilePart,
): Promise<ReconcileAnswer> {
  const { Payload, FunctionError } = await client.send(
    new InvokeCommand({ FunctionName, Payload: JSON.stringify(part) }),
  );
  const text = new TextDecoder().decode(Payload);
  if (FunctionError !== undefined) throw new Error(`The reconciler failed: ${messageIn(text)}`);
  return v.parse(reconcileAnswer, JSON.parse(text));
}

function messageIn(text: string): string {
  const answer = v.safeParse(v.pipe(v.string(), v.parseJson(), v.object({ errorMessage: v.string() })), text);
  return answer.success ? answer.output.errorMessage : 'its log says why';
}
