import * as v from 'valibot';

/** JSON that must be an object; undefined when it is anything else. To valibot an array is an object, too. */
export function parseJsonObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    // The parser's own message quotes the text, which is secret.
    return undefined;
  }
}

/** What is wrong with a secret, field by field. Valibot's own messages quote the value received: these never do. */
export function describeIssues(issues: readonly v.BaseIssue<unknown>[]): string {
  return issues.map((issue) => `${v.getDotPath(issue) ?? 'the whole'} ${faultOf(issue)}`).join('; ');
}

function faultOf(issue: v.BaseIssue<unknown>): string {
  if (issue.kind === 'validation') return issue.message;
  if (issue.expected === 'never') return 'is not a known field';
  return issue.received === 'undefined' ? 'is missing' : `must be ${issue.expected ?? 'of another type'}`;
}
