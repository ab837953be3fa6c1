import * as v from 'valibot';

/** The object in a JSON text; undefined for anything else. For valibot an array is an object, too. */
export function parseJsonObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    // The message of the parser would quote the text, which is secret.
    return undefined;
  }
}

/** What is wrong with a secret, field by field. Unlike Valibot's messages it never quotes a value. */
export function describeIssues(issues: readonly v.BaseIssue<unknown>[]): string {
  return issues.map((issue) => `${v.getDotPath(issue) ?? 'the whole'} ${faultOf(issue)}`).join('; ');
}

function faultOf(issue: v.BaseIssue<unknown>): string {
  if (issue.kind === 'validation') return issue.message;
  if (issue.expected === 'never') return 'is not a known field';
  return issue.received === 'undefined' ? 'is missing' : `must be ${issue.expected ?? 'of another type'}`;
}
