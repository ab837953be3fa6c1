import * as v from 'valibot';

/**
 * Reads the body of any message. Apart from the schemas, which would come into every bundle with it.
 * @throws Error that names every field that is missing or wrong, and quotes no value
 */
export function parseMessage<S extends v.GenericSchema>(
  schema: S,
  body: string,
  what = 'is not one of ours',
): v.InferOutput<S> {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), body);
  if (parsed.success) return parsed.output;
  const faults = parsed.issues.map(
    (issue) => `${v.getDotPath(issue) ?? 'body'} must be ${issue.expected ?? issue.type}`,
  );
  throw new Error(`The message ${what}: ${faults.join('; ')}`);
}
