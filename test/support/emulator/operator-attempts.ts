import { writeFileSync } from 'node:fs';
import type { NewsletterCalls } from './newsletter-calls.ts';
import { tableOf } from './resources.ts';
import type { Right } from './users.ts';

const MINUTES = 60_000;

/** What the commands are tried on. */
export interface AttemptWorld {
  readonly receiver_url: string;
  readonly newsletters: NewsletterCalls;
  /** The path of a file: `members.csv` and `post.md` are there. */
  readonly file: (name: string) => string;
  /** The answer of a command, by somebody who may do anything. */
  readonly json: <T>(...args: readonly string[]) => Promise<T>;
  /** Makes a key, and gives its id. */
  readonly key: () => Promise<string>;
  /** What earlier commands have made. */
  readonly ids: { key: string; email: string; scheduled: string };
}

interface Attempt {
  /** Arguments of `npm run ops`. */
  readonly args: (world: AttemptWorld) => Promise<readonly string[]> | readonly string[];
  /** What it reads from standard input. */
  readonly input?: (world: AttemptWorld) => string;
  /** On what has no output, as somebody has made it. */
  readonly besides?: Right;
  /** What is done before and after it, with the same rights. */
  readonly around?: readonly [readonly string[], readonly string[]];
  /** Part of a refusal that has nothing to do with rights, where the command cannot be done here. */
  readonly refused?: string;
}

/** The log as it was an hour ago, restored under this name. */
export const RESTORED = 'restored-log';

const TENANT = ['--tenant', 'TENANT001'] as const;
const PUBLICATION = ['--newsletter', 'weekly'] as const;

/** One use of each command of operators, in this order: later ones use what earlier ones have left. */
export const OPERATOR_ATTEMPTS: Readonly<Record<string, Attempt>> = {
  preflight: { args: () => ['preflight', '--json'] },
  leftovers: { args: () => ['leftovers', '--json'] },
  status: { args: () => ['status'] },
  sweeps: { args: () => ['sweeps'] },
  audit: { args: () => ['audit'] },
  list: { args: () => ['list', '--status', 'dead', '--channel', 'webhook'] },
  show: { args: () => ['show', 'dead-replay'] },
  retry: { args: () => ['retry', 'dead-retry'] },
  cancel: { args: () => ['cancel', 'due-cancel'] },
  correct: {
    args: () => ['correct', 'dead-correct', '--recipient', '-'],
    input: ({ receiver_url }) => `${receiver_url}/corrected`,
  },
  // Before a replay, which deletes the letters of what it takes.
  'dlq list': { args: () => ['dlq', 'list'] },
  'dlq show': { args: () => ['dlq', 'show', 'dead-drop'] },
  // The emulator authorizes the call before it finds out that it has no such action.
  'dlq redrive': { args: () => ['dlq', 'redrive', '--channel', 'webhook', '--yes'], refused: 'InvalidAction' },
  'dlq drop': { args: () => ['dlq', 'drop', 'dead-drop', '--yes'] },
  replay: { args: () => ['replay', '--channel', 'webhook', '--error-type', 'AUTH_FAILED', '--yes'] },
  reconcile: { args: () => ['reconcile', '--dry-run'] },
  verify: { args: () => ['verify', '--letters'] },
  restore: {
    besides: {
      actions: ['dynamodb:Scan', 'dynamodb:BatchGetItem', 'dynamodb:GetItem'],
      resources: [tableOf(RESTORED)],
    },
    args: () => ['restore', '--log', RESTORED, '--restored-to', '1h', '--yes'],
    around: [
      ['restore', '--stop'],
      ['restore', '--start'],
    ],
  },
  // It tells of those that were given up.
  'outcomes resend': {
    args: () => ['outcomes', 'resend', '--from', '1d', '--to', new Date(Date.now() + MINUTES).toISOString()],
  },
  'rows import': {
    args: (world) => {
      const his = {
        id: 'his-1',
        notification_type: 'WEBHOOK',
        send_status: 'SUCCESS',
        sent_at: '2026-01-01 10:30:15',
      };
      writeFileSync(world.file('his.json'), JSON.stringify([his]));
      return ['rows', 'import', world.file('his.json'), ...TENANT];
    },
  },
  'keys create': { args: () => ['keys', 'create', ...TENANT, '--scope', 'send'] },
  'keys list': { args: () => ['keys', 'list'] },
  'keys rotate': { args: async (world) => ['keys', 'rotate', await world.key()] },
  'keys revoke': { args: (world) => ['keys', 'revoke', world.ids.key] },
  'members import': { args: (world) => ['members', 'import', world.file('members.csv'), ...TENANT, ...PUBLICATION] },
  'members export': { args: (world) => ['members', 'export', world.file('export.csv'), ...TENANT] },
  'members show': { args: () => ['members', 'show', '--email', 'ann@your-domain.example', ...TENANT] },
  'members suppress': { args: () => ['members', 'suppress', 'ann', ...TENANT] },
  'members unsuppress': { args: () => ['members', 'unsuppress', 'ann', ...TENANT] },
  'newsletters create': {
    args: () => ['newsletters', 'create', 'monthly', ...TENANT, '--name', 'Monthly', '--from', 'weekly@example.com'],
  },
  'newsletters list': { args: () => ['newsletters', 'list', ...TENANT] },
  'newsletters show': { args: () => ['newsletters', 'show', 'monthly', ...TENANT] },
  'senders allow': { args: () => ['senders', 'allow', '*@your-domain.example', ...TENANT] },
  'senders list': { args: () => ['senders', 'list', ...TENANT] },
  'senders revoke': { args: () => ['senders', 'revoke', '*@your-domain.example', ...TENANT] },
  'emails send': { args: (world) => ['emails', 'send', world.file('post.md'), ...TENANT, ...PUBLICATION] },
  'emails test': {
    args: (world) => ['emails', 'test', world.file('post.md'), ...TENANT, ...PUBLICATION, '--to', 'me@example.com'],
  },
  'emails preview': {
    args: (world) => ['emails', 'preview', world.file('post.md'), ...TENANT, ...PUBLICATION, '--member', 'ann'],
  },
  'emails list': {
    args: async (world) => {
      const [sent] = await world.json<{ email_id: string }[]>('emails', 'list', ...TENANT);
      world.ids.email = sent?.email_id ?? '';
      await world.newsletters.ended(world.ids.email);
      const scheduled_at = new Date(Date.now() + 60 * MINUTES).toISOString();
      const later = { newsletter_id: 'weekly', format: 'text', subject: 'Later', body: 'Hello', scheduled_at };
      const { email_id } = await world.newsletters.call<{ email_id: string }>('POST', '/v1/emails', later);
      world.ids.scheduled = email_id;
      return ['emails', 'list', ...TENANT];
    },
  },
  'emails status': { args: (world) => ['emails', 'status', world.ids.email] },
  'emails recipients': { args: (world) => ['emails', 'recipients', world.ids.email, '--addresses'] },
  'emails resolve': { args: (world) => ['emails', 'resolve', world.ids.email, '--leave'] },
  'emails retry': { args: (world) => ['emails', 'retry', world.ids.email], refused: 'cannot be retried' },
  'emails replace': { args: (world) => ['emails', 'replace', world.ids.scheduled, world.file('post.md')] },
  'emails pause': { args: (world) => ['emails', 'pause', world.ids.scheduled] },
  'emails resume': { args: (world) => ['emails', 'resume', world.ids.scheduled] },
  'emails cancel': { args: (world) => ['emails', 'cancel', world.ids.scheduled] },
  forget: { args: () => ['forget', '--recipient', '-', ...TENANT], input: () => 'ann@your-domain.example' },
};
