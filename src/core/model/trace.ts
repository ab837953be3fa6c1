import { fnv1a } from './work-index.ts';

/**
 * W3C Trace Context: the producer's trace, and an attempt's span in it. What is stored and sent on is version 00:
 * `00-<trace id: 32>-<span id: 16>-<flags: 2>`, in hex digits in lower case; no id is all zeros.
 */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Characters of a traceparent of version 00. */
const LENGTH = 55;

/** The traceparent in version 00, whatever later version the caller speaks; undefined if it is none. */
export function readTraceparent(value: unknown): string | undefined {
  const found = typeof value === 'string' ? TRACEPARENT.exec(value) : null;
  if (found === null) return undefined;
  const [whole, version, , , , more] = found;
  if (version === '00') return more === undefined ? whole : undefined;
  return `00${whole.slice(2, LENGTH)}`;
}

/** An attempt in the trace of its notification. All ids are computed, so that whoever repeats a step names the same. */
export interface AttemptTrace {
  readonly trace_id: string;
  /** The attempt's own span. */
  readonly span_id: string;
  readonly parent_span_id: string;
  /** A retry: the span of the first attempt. */
  readonly first_span_id?: string;
  /** What a webhook's receiver gets, and the retry record keeps. */
  readonly traceparent: string;
}

/** @returns undefined if the row has no traceparent, or one that its writer got wrong: an attempt never fails for it */
export function traceOf(
  { log_id, traceparent }: { readonly log_id: string; readonly traceparent?: unknown },
  attempt: number,
): AttemptTrace | undefined {
  const known = readTraceparent(traceparent);
  if (known === undefined) return undefined;
  const [, trace_id = '', parent_span_id = '', flags = ''] = known.split('-');
  const span_id = spanOf(log_id, attempt);
  return {
    trace_id,
    span_id,
    parent_span_id,
    ...(attempt > 0 && { first_span_id: spanOf(log_id, 0) }),
    traceparent: `00-${trace_id}-${span_id}-${flags}`,
  };
}

/** For log lines about a row. */
export function traceIdOf({ traceparent }: { readonly traceparent?: unknown }): { readonly trace_id?: string } {
  const known = readTraceparent(traceparent);
  return known === undefined ? {} : { trace_id: known.slice(3, 35) };
}

function spanOf(log_id: string, attempt: number): string {
  const half = (text: string) => (fnv1a(text) || 1).toString(16).padStart(8, '0');
  return half(`${log_id}#${attempt}`) + half(`${attempt}#${log_id}`);
}
