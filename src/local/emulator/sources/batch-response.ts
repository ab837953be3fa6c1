import { isObject, type Json, parsed } from '../../support/json.ts';

/**
 * The failed records of a batch, as Lambda reads a `ReportBatchItemFailures` response: no list, or an empty one, means
 * success. A response that is malformed or names an unknown record means that the whole batch failed.
 * @param result the function's result as JSON
 * @returns the failed ids, or `all`
 */
export function failedItems(result: string, known: ReadonlySet<string>): ReadonlySet<string> | 'all' {
  const response = parsed(result);
  if (response === undefined) return 'all';
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
