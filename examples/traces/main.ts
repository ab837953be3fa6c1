import { createInterface } from 'node:readline';

/** A log line of an attempt, as far as a span is made of it. */
interface AttemptLine {
  /** When the attempt ended: ISO-8601. */
  readonly timestamp: string;
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_span_id: string;
  /** Of a retry. */
  readonly first_span_id?: string;
  readonly attempt: number;
  readonly channel: string;
  readonly outcome: string;
  readonly duration_ms?: number;
}

/** What the receiver of a trace may filter by; ids and states only, as in the log. */
const ATTRIBUTES = [
  'log_id',
  'tenant_id',
  'channel',
  'priority',
  'attempt',
  'trigger',
  'outcome',
  'error_type',
] as const;

/** Status codes and kinds of OTLP. */
const [OK, ERROR, CLIENT] = [1, 2, 3];

const spans: object[] = [];
for await (const text of createInterface({ input: process.stdin })) {
  const line = attemptIn(text);
  if (line !== undefined) spans.push(spanOf(line));
}
const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'notification-retry' } }] };
const trace = { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'notification-retry' }, spans }] }] };
process.stdout.write(`${JSON.stringify(trace)}\n`);

/** Undefined for all other lines: of attempts without a trace, of messages that led to none, of other programs. */
function attemptIn(text: string): AttemptLine | undefined {
  try {
    // CloudWatch's tools put the time before the line.
    const line = JSON.parse(text.slice(text.indexOf('{')));
    const whole = ['timestamp', 'trace_id', 'span_id', 'attempt', 'outcome'].every((name) => line[name] !== undefined);
    return whole ? line : undefined;
  } catch {
    return undefined;
  }
}

function spanOf(line: AttemptLine): object {
  const ended = Date.parse(line.timestamp);
  const nanoseconds = (ms: number) => `${ms}000000`;
  return {
    traceId: line.trace_id,
    spanId: line.span_id,
    parentSpanId: line.parent_span_id,
    name: `${line.channel} attempt ${line.attempt}`,
    kind: CLIENT,
    startTimeUnixNano: nanoseconds(ended - (line.duration_ms ?? 0)),
    endTimeUnixNano: nanoseconds(ended),
    attributes: ATTRIBUTES.flatMap((key) => {
      const value = (line as unknown as Readonly<Record<string, unknown>>)[key];
      return value === undefined ? [] : [{ key: `notification.${key}`, value: { stringValue: String(value) } }];
    }),
    status: { code: line.outcome === 'SUCCESS' ? OK : ERROR },
    links: line.first_span_id ? [{ traceId: line.trace_id, spanId: line.first_span_id }] : [],
  };
}
