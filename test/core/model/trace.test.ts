import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTraceparent, traceIdOf, traceOf } from '../../../src/core/model/trace.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const TRACEPARENT = `00-${TRACE}-00f067aa0ba902b7-01`;

describe('a traceparent of W3C Trace Context', () => {
  it.each([
    ['of version 00', TRACEPARENT, TRACEPARENT],
    ['of a later version, with more behind it', `01-${TRACEPARENT.slice(3)}-more`, TRACEPARENT],
    ['of version 00 with more behind it', `${TRACEPARENT}-more`, undefined],
    ['of version ff', `ff${TRACEPARENT.slice(2)}`, undefined],
    ['with a trace of zeros', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, undefined],
    ['with a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`, undefined],
    ['in upper case', TRACEPARENT.toUpperCase(), undefined],
    ['with a line break', `${TRACEPARENT}\n`, undefined],
    ['that is a number', 5, undefined],
    ['that is absent', undefined, undefined],
  ])('%s', (_, given, read) => {
    expect(readTraceparent(given)).toBe(read);
    expect(traceIdOf({ traceparent: given })).toEqual(read === undefined ? {} : { trace_id: TRACE });
  });

  it('gives each attempt a span of its own, the same whoever computes it, and retries a link to the first', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 50 }), fc.integer({ min: 0, max: 40 }), (log_id, attempt) => {
        const row = { log_id, traceparent: TRACEPARENT };
        const trace = traceOf(row, attempt);
        expect(readTraceparent(trace?.traceparent)).toBe(`00-${TRACE}-${trace?.span_id}-01`);
        expect(trace).toMatchObject({ trace_id: TRACE, parent_span_id: '00f067aa0ba902b7' });
        expect(trace).toEqual(traceOf(row, attempt));
        const first = traceOf(row, 0);
        expect(first).not.toHaveProperty('first_span_id');
        if (attempt > 0) expect(trace?.first_span_id).toBe(first?.span_id);
        expect(trace?.span_id === first?.span_id).toBe(attempt === 0);
      }),
    );
  });

  it('that a writer got wrong is none', () => {
    expect(traceOf({ log_id: 'log-1', traceparent: 'mine' }, 0)).toBeUndefined();
  });
});
