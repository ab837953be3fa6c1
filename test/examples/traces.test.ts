import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { PROJECT_ROOT } from '../support/project-root.ts';

const PRODUCER = 'b'.repeat(16);
const FIRST = 'c'.repeat(16);
const line = (more: object) =>
  JSON.stringify({
    level: 'INFO',
    message: 'attempt',
    timestamp: '2026-03-01T09:30:01.500Z',
    log_id: 'log-1',
    tenant_id: 'tenant-1',
    channel: 'webhook',
    trace_id: 'a'.repeat(32),
    parent_span_id: PRODUCER,
    ...more,
  });

describe('the example that makes traces of log lines', () => {
  it('makes a span of each attempt that has a trace, and passes over all other lines', () => {
    const input = [
      line({ span_id: FIRST, attempt: 0, outcome: 'RETRY', duration_ms: 500, error_type: 'SERVER_OVERLOAD' }),
      `2026-03-01T10:00:00 ${line({ span_id: 'd'.repeat(16), first_span_id: FIRST, attempt: 1, outcome: 'SUCCESS' })}`,
      line({ span_id: 'e'.repeat(16), attempt: 1, dropped: 'it is delivered already' }),
      JSON.stringify({ message: 'attempt', attempt: 0, outcome: 'SUCCESS', timestamp: '2026-03-01T09:30:01.500Z' }),
      'START RequestId: 5',
      '{"half":',
    ].join('\n');
    const { stdout } = spawnSync(process.execPath, ['examples/traces/main.ts'], {
      cwd: PROJECT_ROOT,
      input,
      encoding: 'utf8',
    });
    const { spans } = JSON.parse(stdout).resourceSpans[0].scopeSpans[0];
    const end = '1772357401500000000';
    expect(spans).toMatchObject([
      {
        traceId: 'a'.repeat(32),
        spanId: FIRST,
        parentSpanId: PRODUCER,
        name: 'webhook attempt 0',
        kind: 3,
        startTimeUnixNano: '1772357401000000000',
        endTimeUnixNano: end,
        status: { code: 2 },
        links: [],
      },
      { parentSpanId: PRODUCER, endTimeUnixNano: end, status: { code: 1 }, links: [{ spanId: FIRST }] },
    ]);
    expect(spans[0].attributes).toContainEqual({
      key: 'notification.error_type',
      value: { stringValue: 'SERVER_OVERLOAD' },
    });
  });
});
