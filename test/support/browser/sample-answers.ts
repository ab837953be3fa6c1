import type { Role } from '../../../src/application/contract/choices.ts';
import type { EmailDetail } from '../../../src/application/contract/newsletters.ts';
import type { NotificationDetail } from '../../../src/application/contract/notifications.ts';
import type { OperationView, VerificationView } from '../../../src/application/contract/operations.ts';
import type { DeadLetterGroup, Health, Overview } from '../../../src/application/contract/overview.ts';
import type { NotificationView } from '../../../src/core/operator/views/notification-view.ts';
import type { FakeAnswers } from './fake-console.ts';

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

/** One notification; `more` replaces columns. */
export function notification(log_id: string, more: object = {}): NotificationView {
  return {
    log_id,
    tenant_id: 'TENANT001',
    channel: 'slack',
    priority: 'normal',
    integration_config_id: 'IC1',
    send_status: 'FAILED',
    failure_reason: 'AUTH_FAILED',
    error_type: 'AUTH_FAILED',
    error_message: 'Slack answered 200 token_revoked',
    send_attempts: 1,
    created_at: ago(40),
    updated_at: ago(3),
    state: 'dead',
    ...more,
  };
}

export function detailOf(view: NotificationView): NotificationDetail {
  return {
    notification: view,
    attempts: [
      {
        retry_log_id: `${String(view['log_id'])}#1`,
        original_log_id: String(view['log_id']),
        retry_attempt: 1,
        tenant_id: 'TENANT001',
        channel: 'slack',
        retry_at: ago(3),
        retry_status: 'FAILED',
        error_type: 'AUTH_FAILED',
        failure_reason: 'AUTH_FAILED',
        error_details: '{"status":200,"body":"token_revoked"}',
        response_code: 'token_revoked',
        response_message: 'Slack answered 200 token_revoked',
        duration_ms: 41,
        trigger: 'manual',
        requested_by: 'operator',
        run_id: 'manual-op-1',
        asked_by: { who: 'tester', what: 'redrive', operation_id: 'op-1' },
      },
    ],
    remedy: "Check the integration's settings and credential, then redrive.",
    actions: {
      redrive: { possible: true },
      retry: { possible: true },
      cancel: { possible: false, because: 'It is dead: nothing waits.' },
      give_up: { possible: true },
    },
    correction: { possible: true },
    commands: [{ label: 'Show it', command: 'npm run ops -- show NL1 --local' }],
  };
}

export const GROUP: DeadLetterGroup = {
  group_id: 'group1',
  channel: 'slack',
  failure_reason: 'AUTH_FAILED',
  error_type: 'AUTH_FAILED',
  integration: 'IC1',
  error_message: 'Slack answered 200 token_revoked',
  response_code: 'token_revoked',
  count: 3,
  tenants: 2,
  oldest_at: ago(50),
  newest_at: ago(2),
  sample: ['NL1', 'NL2', 'NL3'],
  remedy: "Check the integration's settings and credential, then redrive.",
  repair: { label: 'Put the right credential', command: 'vi /tmp/secrets.json' },
  filter: { channel: 'slack', failure_reason: 'AUTH_FAILED', integration: 'IC1' },
  commands: [{ label: 'Redrive', command: 'npm run ops -- replay --channel slack --local' }],
};

const COUNTS = { matched: 5, taken: 3, left_to_sweep: 0, excluded: { delivered: 1, expired: 1 } };

export function operation(more: Partial<OperationView> = {}): OperationView {
  return {
    operation_id: 'OP1',
    kind: 'redrive',
    integration_config_id: null,
    status: 'running',
    wanted: null,
    filter: GROUP.filter,
    rate: 100,
    limit: null,
    cut_off: ago(1),
    created_by: 'tester',
    created_at: ago(1),
    started_at: ago(1),
    ended_at: null,
    preview: COUNTS,
    sample: [notification('NL1')],
    sample_log_ids: ['NL1'],
    progress: { ...COUNTS, taken: 1 },
    outcomes: null,
    rate_now: 12,
    eta: ago(-1),
    error: null,
    actions: ['pause', 'cancel'],
    command: 'npm run ops -- replay --channel slack --local',
    ...more,
  };
}

export function verification(changes: Partial<VerificationView> = {}): VerificationView {
  return {
    status: 'done',
    started_by: 'schedule',
    started_at: '2026-03-01T03:00:00.000Z',
    error: null,
    ended_at: '2026-03-01T03:04:00.000Z',
    progress: { phase: 'done', scanned: 1_204, violated: 2, read_units: 1_500, suspects: 0 },
    result: {
      holds: false,
      records_checked: 500,
      contents_without_row: 1,
      erased: 0,
      set_aside_in_clear: 3,
      violated: 2,
      equations: ['1,204 accepted = 1,200 delivered + 3 waiting + 1 in none of these'],
      violations: [
        { rule: '1', says: 'RETRY and in no part of the work index that fits', log_id: 'NL1' },
        { rule: '11', says: '3 dead, and 2 letters', channel: 'slack' },
      ],
    },
    ...changes,
  };
}

export const OVERVIEW: Overview = {
  channels: (['email', 'slack', 'teams', 'webhook'] as const).map((channel) => ({
    channel,
    due: 4,
    waiting: 12,
    held: channel === 'teams' ? 40 : 0,
    in_flight: 1,
    dead: channel === 'slack' ? 3 : 0,
    estimated: false,
    oldest_due_at: ago(6),
  })),
  causes: [
    {
      channel: 'slack',
      failure_reason: 'AUTH_FAILED',
      error_type: 'AUTH_FAILED',
      integration: 'IC1',
      count: 3,
      remedy: GROUP.remedy,
    },
  ],
  causes_complete: true,
  alarms: [
    {
      name: 'breaker-open-teams',
      severity: 'warning',
      meaning: 'A provider of teams has been down for half an hour; its notifications are held',
      since: ago(12),
      url: 'https://eu-west-1.console.aws.amazon.com/cloudwatch/home?region=eu-west-1#alarmsV2:alarm/breaker-open-teams',
    },
  ],
  breakers: [
    {
      channel: 'teams',
      integration: 'IC7',
      state: 'open',
      since: ago(20),
      held: 41,
      notifications: 40,
      last_error: 'SERVER_OVERLOAD',
      next_probe_at: ago(-2),
    },
  ],
  budgets: [
    {
      channel: 'email',
      per_second: 14,
      allowed_per_second: 14,
      max_24h: 50_000,
      sent_24h: 31_207,
      enforcement: 'HEALTHY',
      sending: true,
      production: true,
      read_at: ago(1),
      paused: [],
      waiting_until: { express: null, standard: null },
      busy_receivers: 0,
    },
  ],
  sweeps: [{ run_id: 'run-1', started_at: ago(30), due: 240, dispatched: 238, skipped: 2, complete: true }],
  series: [
    ...(['due', 'dispatched', 'delivered', 'failed'] as const).map((name, line) => ({
      name,
      unit: 'notifications' as const,
      points: Array.from({ length: 24 }, (_, hour) => ({
        at: ago((24 - hour) * 60),
        value: 120 + line * 10 + ((hour * 37) % 60),
      })),
    })),
    { name: 'outcomes', unit: 'notifications', points: [40, 2].map((value, i) => ({ at: ago(60 - 30 * i), value })) },
    {
      name: 'outcomes_lag_seconds',
      unit: 'seconds',
      points: [9, 2].map((value, i) => ({ at: ago(60 - 30 * i), value })),
    },
  ],
};

const HOURS = Array.from({ length: 24 }, (_, hour) => ({
  delivered: hour === 9 ? 1 : 0,
  failing: hour === 9 ? 1 : hour === 23 ? 2 : 0,
}));
const HEALTH: Health = {
  since: ago(23 * 60 + 30),
  read: 6,
  complete: true,
  integrations: [
    {
      channel: 'slack',
      integration: 'IC1',
      notifications: 4,
      delivered: 1,
      failing: 3,
      dead: 3,
      last_error: 'Slack answered 200 token_revoked',
      last_failed_at: ago(3),
      hours: HOURS,
    },
    {
      channel: 'email',
      integration: null,
      notifications: 2,
      delivered: 2,
      failing: 0,
      dead: 0,
      last_error: null,
      last_failed_at: null,
      hours: HOURS.map((hour) => ({ ...hour, failing: 0 })),
    },
  ],
};

export const EMAIL: EmailDetail = {
  tenant_id: 'TENANT001',
  subject: 'Autumn news',
  email: {
    email_id: 'EM1',
    newsletter_id: 'weekly',
    status: 'submitting',
    phase: 'sending',
    email_count: 1_000,
    created_at: ago(10),
    counts: {
      recipients: 1_000,
      pending: 400,
      submitted: 560,
      excluded: 30,
      failed: 6,
      uncertain: 4,
      delivered: 500,
      opened: 80,
      clicked: 9,
      bounced: 5,
      soft_bounced: 2,
      complained: 1,
      unsubscribed: 2,
      machine_opened: 40,
      machine_clicked: 0,
    },
    uncertain_left: 0,
    excluded_by_reason: { suppressed: 30 },
    failed_by_reason: { rejected: 6 },
    batches: { pending: 0, submitting: 1, submitted: 0, failed: 0 },
    rate: { now: 13.5, allowed: 14 },
    eta: ago(-1),
  },
  actions: ['pause'],
  commands: [{ label: 'Follow it', command: 'npm run ops -- emails status EM1 --watch --local' }],
};

/** A small world in which every screen has something to show. */
export function sampleAnswers(role: Role): FakeAnswers {
  return {
    'GET /api/session': { who: 'tester', role, stage: 'local', region: 'us-east-1', local: true, poll_ms: 60_000 },
    'GET /api/overview': OVERVIEW,
    'GET /api/health': HEALTH,
    'GET /api/notifications': {
      notifications: [
        notification('NL1'),
        notification('NL2', { state: 'waiting', work_at: ago(-7) }),
        notification('NL3', { state: 'delivered', channel: 'email' }),
        notification('0b9f6d1e-6a52-4c0f-9d0a-2f1c7e5b8a44', {
          state: 'stopped',
          channel: 'webhook',
          error_type: 'INVALID_RECIPIENT',
        }),
      ],
      next_cursor: null,
    },
    'GET /api/notifications/{log_id}': (_, { log_id = '' }) => detailOf(notification(log_id)),
    'POST /api/notifications/{log_id}/reveal': { recipient: '#alerts' },
    'POST /api/notifications/{log_id}/content': {
      recipient: '#alerts',
      subject: 'Invoice',
      body: 'Your invoice is ready.',
      format: 'PLAIN',
    },
    'POST /api/recipient-hash': { recipient_hash: 'a'.repeat(43) },
    'POST /api/notifications/{log_id}/correct': {
      request_id: 'request-1',
      dry_run: true,
      repeated: false,
      result: 'queued',
      changes: [{ field: 'recipient', from: 'm•••@example.com', to: 's•••@example.com' }],
      command: 'npm run ops -- correct NL1 --recipient - --local',
    },
    'POST /api/actions': ({ body }) => {
      const { request_id, log_ids, dry_run = false } = JSON.parse(String(body));
      return {
        request_id,
        dry_run,
        repeated: false,
        results: log_ids.map((log_id: string) => ({ log_id, result: 'queued' })),
        command: 'npm run ops -- retry NL1 --local',
      };
    },
    'GET /api/dead-letters': { groups: [GROUP], total: 3, complete: true },
    'GET /api/operations': { operations: [operation()], next_cursor: null },
    'GET /api/verification': { verification: verification() },
    'POST /api/operations': operation({ status: 'ready', actions: ['start', 'cancel'] }),
    'GET /api/operations/{operation_id}': operation({
      status: 'ready',
      actions: ['start', 'cancel'],
      outcomes: { looked_at: 3, delivered: ['NL1'], dead: ['NL2'], waiting: ['NL3'], stopped: [] },
    }),
    'POST /api/operations/{operation_id}/start': operation(),
    'POST /api/operations/{operation_id}/pause': operation({ status: 'paused', actions: ['resume', 'cancel'] }),
    'GET /api/newsletters': {
      newsletters: [
        {
          tenant_id: 'TENANT001',
          newsletter_id: 'weekly',
          name: 'Weekly',
          from: 'News <news@example.com>',
          created_at: ago(9_000),
          updated_at: ago(9_000),
        },
      ],
      next_cursor: null,
    },
    'POST /api/newsletters': {
      tenant_id: 'TENANT001',
      newsletter_id: 'daily',
      name: 'Daily',
      from: 'daily@example.com',
      created_at: ago(0),
      updated_at: ago(0),
    },
    'GET /api/emails': { emails: [EMAIL.email], next_cursor: null },
    'GET /api/emails/{email_id}': EMAIL,
    'POST /api/emails/{email_id}/pause': { email_id: 'EM1', status: 'submitting' },
    'GET /api/emails/{email_id}/recipients': {
      recipients: [
        {
          recipient_id: 'R1',
          batch_id: '00000',
          member_id: 'M1',
          member_uuid: 'U1',
          state: 'failed',
          reason: 'rejected',
          events: ['bounced'],
        },
      ],
      next_cursor: null,
    },
    'GET /api/members/{member_id}': (_, { member_id = '' }) => ({
      tenant_id: 'TENANT001',
      member_id,
      status: 'paid',
      labels: ['vip'],
      newsletters: ['weekly'],
      gets: [],
      created_at: ago(9_000),
      suppressed: { reason: 'bounced', at: ago(5) },
      unsubscribed: { daily: ago(90) },
    }),
    'GET /api/emails/{email_id}/preview': {
      subject: 'Autumn news',
      headers: { From: 'News <news@example.com>', To: 'sample@example.com', Subject: 'Autumn news' },
      text: 'Autumn has come.',
      notes: ['The newsletter weekly has no postal_address.'],
      frame: { html: '<!doctype html><h1 data-style="color:#14171c">Autumn has come.</h1>', styles: [] },
    },
    'POST /api/members/import-preview': {
      line: 4,
      created: 2,
      changed: 1,
      bad: 1,
      skipped: 0,
      unsubscribed: 1,
      suppressed: 0,
      faults: [{ line: 3, column: 'email', rule: 'email', message: 'must be an address' }],
      next: null,
    },
    'GET /api/members': {
      members: [
        {
          member_id: 'M1',
          status: 'paid',
          labels: ['vip'],
          newsletters: ['weekly', 'daily'],
          gets: ['daily'],
          created_at: ago(9_000),
          unsubscribed: { weekly: ago(90) },
          state: 'subscribed',
        },
        {
          member_id: 'M2',
          status: 'free',
          labels: [],
          newsletters: ['weekly'],
          gets: [],
          created_at: ago(900),
          suppressed: { reason: 'bounced', at: ago(5) },
          unsubscribed: {},
          state: 'suppressed',
        },
      ],
      next_cursor: null,
    },
    'GET /api/members/{member_id}/emails': {
      emails: [
        {
          email_id: 'EM1',
          newsletter_id: 'weekly',
          subject: 'Autumn news',
          created_at: ago(10),
          state: 'failed',
          reason: 'rejected',
          events: ['bounced'],
          processed_at: ago(8),
        },
        { email_id: 'EM0', newsletter_id: 'weekly', created_at: ago(9_000), state: 'expired', events: [] },
      ],
      next_cursor: null,
    },
    'POST /api/members/show': ({ body }) => ({
      members: [
        { member_id: 'M1', email: 'sam@example.com', name: 'Sam' },
        ...(JSON.parse(String(body)).member_id === undefined ? [{ member_id: 'M2', email: 'sam@example.com' }] : []),
      ],
      unsubscribed: {},
    }),
    'GET /api/keys': {
      keys: [
        {
          key_id: 'K1',
          tenant_id: 'TENANT001',
          scopes: ['send', 'read'],
          state: 'valid',
          created_at: ago(9_000),
          description: 'billing service',
        },
        {
          key_id: 'K2',
          tenant_id: 'TENANT002',
          scopes: ['send'],
          state: 'revoked',
          created_at: ago(9_000),
          revoked_at: ago(60),
        },
      ],
      next_cursor: null,
    },
    'POST /api/keys': { key_id: 'K3', key: 'nr_secret' },
    'POST /api/keys/{key_id}/revoke': { key_id: 'K1', revoked_at: ago(0) },
    'GET /api/audit': {
      entries: [
        {
          audit_id: 'A1',
          at: ago(4),
          who: 'tester',
          role: 'operator',
          what: 'reveal',
          on: ['NL1'],
          targets: 1,
          request_id: 'request-1',
          result: { revealed: 1 },
        },
        {
          audit_id: 'A2',
          at: ago(9),
          who: 'tester',
          role: 'operator',
          what: 'operation.start',
          on: ['OP1'],
          targets: 1,
          request_id: 'request-2',
        },
      ],
      next_cursor: null,
    },
  };
}
