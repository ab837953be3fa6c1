import * as v from 'valibot';
import { ExplainedError } from '../../core/model/problem.ts';

export interface SecretSource {
  /**
   * @param options.fresh reads past every cache
   * @returns undefined when there is no such secret
   * @throws SecretUnavailableError
   */
  get(name: string, options?: { readonly fresh?: boolean }): Promise<string | undefined>;
}

/** Why a secret could not be read: access is denied, the file is malformed, or the source does not answer now. */
export type SecretFault = 'denied' | 'malformed' | 'temporary';

/** A secret could not be read. The message names the secret and the reason, never the value. */
export class SecretUnavailableError extends ExplainedError {
  override readonly name = 'SecretUnavailableError';
  readonly fault: SecretFault;

  constructor(fault: SecretFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

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

const MAX_REMEMBERED = 500;

/**
 * Makes a call at most once per key and period, also when it fails: a source in trouble is not asked more often.
 * Callers within the period wait for the call that was made.
 * @param now milliseconds
 */
export function atMostOncePer(
  run: (key: string) => Promise<void>,
  period_ms: number,
  now: () => number,
): (key: string) => Promise<void> {
  const made = new Map<string, { readonly at: number; readonly done: Promise<void> }>();
  return (key) => {
    const last = made.get(key);
    if (last !== undefined && now() - last.at < period_ms) return last.done;
    const done = run(key);
    if (made.size >= MAX_REMEMBERED) made.clear();
    made.set(key, { at: now(), done });
    return done;
  };
}
