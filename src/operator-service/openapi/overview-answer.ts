import * as v from 'valibot';
import { channel, count, errorType, time } from './parts.ts';

const channelFigures = v.strictObject({
  channel,
  due: count,
  waiting: count,
  in_flight: count,
  dead: count,
  oldest_due_at: v.nullable(time),
  estimated: v.boolean(),
});

const cause = v.strictObject({
  channel,
  failure_reason: errorType,
  error_type: v.nullable(errorType),
  count,
  remedy: v.string(),
});

const breaker = v.strictObject({
  channel,
  integration: v.string(),
  state: v.picklist(['open', 'draining']),
  since: time,
  held: count,
  last_error: errorType,
  next_probe_at: v.nullable(time),
});

const budget = v.strictObject({
  channel,
  per_second: v.nullable(count),
  allowed_per_second: v.nullable(count),
  max_24h: v.nullable(count),
  sent_24h: v.nullable(count),
  enforcement: v.nullable(v.string()),
  sending: v.nullable(v.boolean()),
  production: v.nullable(v.boolean()),
  read_at: v.nullable(time),
  paused: v.array(
    v.strictObject({
      use: v.picklist(['newsletter', 'info', 'standard', 'express']),
      why: v.picklist(['quota', 'account']),
      until: time,
    }),
  ),
  waiting_until: v.strictObject({ express: v.nullable(time), standard: v.nullable(time) }),
  busy_receivers: count,
});

const sweep = v.strictObject({
  run_id: v.string(),
  started_at: time,
  due: count,
  dispatched: count,
  skipped: count,
  complete: v.boolean(),
});

const series = v.strictObject({
  name: v.picklist([
    'due',
    'dispatched',
    'dead',
    'waiting',
    'delivered',
    'failed',
    'delay_seconds',
    'delay_p99_seconds',
  ]),
  unit: v.picklist(['notifications', 'seconds']),
  points: v.array(v.strictObject({ at: time, value: count })),
});

export const overview = v.strictObject({
  channels: v.array(channelFigures),
  causes: v.array(cause),
  causes_complete: v.boolean(),
  breakers: v.array(breaker),
  budgets: v.array(budget),
  sweeps: v.array(sweep),
  series: v.array(series),
  series_problem: v.exactOptional(v.strictObject({ detail: v.string(), remedy: v.string() })),
});
