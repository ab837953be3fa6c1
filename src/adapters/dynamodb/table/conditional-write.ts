import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';

/** The result of a conditional write; `otherwise` when its condition does not hold. */
export async function ifConditionHolds<T, O>(write: Promise<T>, otherwise: O): Promise<T | O> {
  try {
    return await write;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return otherwise;
    throw error;
  }
}
