import * as v from 'valibot';
import { ROLES } from './choices.ts';
import { channel, count, errorType, id, type Out, shellLine, time } from './fields.ts';
import { operationFilter } from './operations.ts';

/** A channel's figures, over both lanes. */
const channelFigures = v.strictObject({
  channel,
  /** Each unfinished notification is in one of due, waiting, held and in_flight. Due: its time has come. */
  due: count,
  /** Its next try is to come. */
  waiting: count,
  /** Its provider is down, or has just come back. */
  held: count,
  /** A channel function has received it: an approximate count by SQS. */
  in_flight: count,
  dead: count,
  oldest_due_at: v.nullable(time),
  /** The figures are estimated from a part of a large index, to two digits. */
  estimated: v.boolean(),
});
export type ChannelFigures = Out<typeof channelFigures>;

/** Dead notifications with the same cause: why they were given up, and the last error before that. */
const cause = v.strictObject({
  channel,
  failure_reason: errorType,
  error_type: v.nullable(errorType),
  /** integration_config_id; null: none. */
  integration: v.nullable(v.string()),
  count,
  remedy: v.string(),
});
export type CauseFigures = Out<typeof cause>;

/** A provider that is down or has just recovered. */
const breaker = v.strictObject({
  channel,
  /** The integration_config_id, `<tenant>@#` before one that only signs, or else `<tenant>@<host of the recipients>`. `ses` for e-mail. */
  integration: v.string(),
  /** `draining`: the provider is up again, and the held notifications are sent. */
  state: v.picklist(['open', 'draining']),
  since: time,
  /** Attempts postponed since then. A notification that was postponed twice counts twice. */
  held: count,
  /** Notifications that it holds now. */
  notifications: count,
  last_error: errorType,
  /** Null while draining. After this time, the next notification is the probe. */
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
    'outcomes',
    'outcomes_lag_seconds',
  ]),
  unit: v.picklist(['notifications', 'seconds']),
  points: v.array(v.strictObject({ at: time, value: count })),
});

const problem = v.strictObject({ detail: v.string(), remedy: v.string() });

const alarm = v.strictObject({
  /** Without the stage. */
  name: v.string(),
  severity: v.picklist(['critical', 'warning']),
  meaning: v.string(),
  since: time,
  /** Its page in CloudWatch. */
  url: v.string(),
});

export const overview = v.strictObject({
  channels: v.array(channelFigures),
  causes: v.array(cause),
  /** Whether the causes cover every dead notification; else only the newest ones were read. */
  causes_complete: v.boolean(),
  /** The stage's alarms that ring. */
  alarms: v.array(alarm),
  /** Why nobody knows whether one rings; absent: they could be asked. */
  alarms_problem: v.exactOptional(problem),
  breakers: v.array(breaker),
  budgets: v.array(budget),
  sweeps: v.array(sweep),
  series: v.array(series),
  /** Why the series of what was delivered are missing; absent: they are there. */
  series_problem: v.exactOptional(problem),
});
export type Overview = Out<typeof overview>;

/** Of what was created in the last day, or of the newest part of that, by channel and integration. */
export const health = v.strictObject({
  /** The beginning of the first hour. */
  since: time,
  /** Notifications that were looked at. */
  read: count,
  /** False: there are more, and only the newest were looked at. */
  complete: v.boolean(),
  integrations: v.array(
    v.strictObject({
      channel: v.string(),
      /** integration_config_id; null: none. */
      integration: v.nullable(v.string()),
      notifications: count,
      delivered: count,
      /** Tried without success: dead, stopped, or waiting for another try. */
      failing: count,
      dead: count,
      /** What the provider answered to the newest of those, without addresses. */
      last_error: v.nullable(v.string()),
      last_failed_at: v.nullable(time),
      /** By the hour of their creation, the oldest first. */
      hours: v.array(v.strictObject({ delivered: count, failing: count })),
    }),
  ),
});
export type Health = Out<typeof health>;

export const deadLettersQuery = v.strictObject({ channel: v.optional(channel), tenant: v.optional(id) });

/** Dead notifications of one cause: one repair, one action. */
const group = v.strictObject({
  /** Stable while the group lives: a key for the page. */
  group_id: v.string(),
  channel,
  failure_reason: errorType,
  error_type: v.nullable(errorType),
  /** integration_config_id, or the host of the recipients; null: neither. */
  integration: v.nullable(v.string()),
  /** The last answer of the newest one, without addresses. */
  error_message: v.nullable(v.string()),
  response_code: v.nullable(v.string()),
  count,
  tenants: count,
  /** When the first and the last of them were given up. */
  oldest_at: time,
  newest_at: time,
  /** The newest few log_ids. */
  sample: v.array(v.string()),
  remedy: v.string(),
  /** The line for the shell that repairs the cause; null: nothing in this system repairs it. */
  repair: v.nullable(shellLine),
  /** For `POST /api/operations` with kind `redrive` or `give_up`, and for a link to the list. */
  filter: operationFilter,
  commands: v.array(shellLine),
});
export type DeadLetterGroup = Out<typeof group>;

export const deadLetters = v.strictObject({
  groups: v.array(group),
  total: count,
  /** False: there are more dead notifications than were read; counts and total are lower bounds. */
  complete: v.boolean(),
});
export type DeadLetters = Out<typeof deadLetters>;

export const session = v.strictObject({
  /** Who acts: the user of the machine, or the name in the token; the audit log has its `sub`. */
  who: v.string(),
  role: v.picklist(ROLES),
  /** Name of the stack, or `local`. */
  stage: v.string(),
  region: v.string(),
  /** Whether shell commands get `--local`. */
  local: v.boolean(),
  /** What the stage does without, and the page thus does not offer; absent: it has all of it. */
  lacks: v.exactOptional(v.array(v.picklist(['newsletters', 'keys']))),
  /** Milliseconds between two polls of a list that the page shows. */
  poll_ms: v.number(),
});
export type SessionView = Out<typeof session>;

/**
 * `GET /config.json`, a static file: how the page signs in. `none`: requests need nothing. `cookie`: the page posts the
 * token from its URL's fragment to `POST /api/session` once, then the cookie does. `oidc`: authorization code with PKCE;
 * the page sends the access token as `Authorization: Bearer`, and keeps it in memory only.
 */
export type ConsoleConfig =
  | { readonly sign_in: 'none' }
  | { readonly sign_in: 'cookie' }
  | { readonly sign_in: 'oidc'; readonly issuer: string; readonly client_id: string; readonly scope: string };
