import { isObject, type Json } from '../../support/json.ts';

/**
 * The records of a batch that the function reported as failed, as Lambda reads a `ReportBatchItemFailures` response:
 * nothing, or an empty list, is success; what cannot be understood or names an unknown record fails the whole batch.
 * @param result the function's result as JSON
 * @returns the failed ids, or `all`
 */
export function failedItems(result: string, known: ReadonlySet<string>): ReadonlySet<string> | 'all' {
  let response: Json;
  try {
    response = JSON.parse(result);
  } catch {
    return 'all';
  }
  const failures = isObject(response) ? response['batchItemFailures'] : undefined;
  if (failures === undefined || failures === null) return new Set();
  if (!Array.isArray(failures)) return 'all';
  const failed = new Set<string>();
  for (const failure of failures as readonly Json[]) {
    const id = isObject(failure) ? failure['itemIdentifier'] : undefined;
    if (typeof id !== 'string' || !known.has(id)) return 'all';
    failed.add(id);
  }
  return failed;
}
