import { DEFAULT_RETRY_POLICY as policy } from '../../../src/core/model/retry-policy.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { corrected, deleted } from '../audit/life-promises.ts';
import type { Stored } from '../audit/memory.ts';
import * as promises from '../audit/promises.ts';
import type { Ground } from './ground.ts';
import { type Edit, type Given, type Limit, START_MS } from './state.ts';

/** What other programs write into the tables. */

export function give(ground: Ground, log_id: string, given: Given): void {
  const { priority, fallback, foreign, hours, tenant: tenant_id = 'tenant-1' } = given;
  const due = new Date(START_MS - (hours ?? 1 / 60) * 3_600_000).toISOString();
  const named = fallback ? { fallback_channel: 'slack' } : {};
  if (foreign) {
    const names = { log_id, tenant_id, notification_type: 'EMAIL', priority };
    put(ground, { ...names, ...named, send_status: 'FAILED', ...contentOf(`${log_id}@example.com`) });
    return;
  }
  const routing = { log_id, tenant_id, channel: 'email', priority } as const;
  const { max_retries } = policy.priorities[priority];
  const state =
    hours === undefined
      ? { send_status: 'FAILED', send_attempts: 1, attempts_left: max_retries, last_attempt: 0, first_attempt_at: due }
      : { send_status: 'PENDING', send_attempts: 0, attempts_left: max_retries + 1, last_attempt: -1, ...FROM_API };
  ground.tables.log.set(log_id, {
    ...routing,
    ...named,
    ...state,
    retry_count: 0,
    work_queue: workQueueOf('due', priority, log_id, 1),
    work_at: due,
    history_bucket: `${tenant_id}#0`,
    updated_by: 'notification-retry',
  });
  ground.tables.content.set(log_id, {
    recipient: `${log_id}@example.com`,
    body: `words for ${log_id}`,
    format: 'PLAIN',
    ...(fallback && { fallback: { recipient: `${log_id}-fallback@example.com` } }),
    tenant_id,
    sequence: '0',
  });
  for (let i = 1; i <= (ground.scope.messages ?? 1); i++)
    ground.send({ version: 1, ...routing, due, run_id: `sweep-${i}` }, 0);
}

const FROM_API = { created_by: 'intake-api' };

/** By the kind of edit: what it changes beside the recipient and the body, which one that corrects them changes alone. */
const SPOILED: Readonly<Record<Exclude<Edit, 'recipient' | 'anew'>, (row: Stored) => Stored>> = {
  limit: () => ({ max_retry_count: 'many' }),
  minute: (row) => ofTime(row, (time) => `${time.slice(0, 16)}Z`),
  decimals: (row) => ofTime(row, (time) => time.replace('Z', '0000000Z')),
};

/** A row that has left the work index has no time there to spoil. */
function ofTime({ work_at }: Stored, spoilt: (time: string) => string): Stored {
  return typeof work_at === 'string' ? { work_at: spoilt(work_at) } : {};
}

export function edit(ground: Ground, log_id: string, how: Edit): void {
  const was = ground.tables.log.get(log_id) ?? {};
  if (how !== 'recipient' && how !== 'anew') {
    put(ground, { ...was, ...SPOILED[how](was), updated_by: 'BATCH-951' });
    return;
  }
  const anew = how === 'anew';
  ground.set({ memory: corrected(ground.state.memory, was, { anew, fallback: true }) });
  const { tenant_id, priority, channel, fallback_channel } = was;
  const named = fallback_channel !== undefined && {
    fallback_channel,
    fallback_recipient: `new-${log_id}-fallback@example.com`,
  };
  // Who puts it anew keeps nothing of what we wrote there.
  const type = promises.textOf(channel).toUpperCase() || was['notification_type'];
  const row = anew ? { log_id, tenant_id, priority, notification_type: type, send_status: 'FAILED' } : was;
  put(ground, { ...row, ...named, ...contentOf(`new-${log_id}@example.com`) });
}

/** The writer of a row wants it no more. */
export function remove(ground: Ground, log_id: string): void {
  const was = ground.tables.log.get(log_id) ?? {};
  ground.set({ memory: deleted(ground.state.memory, was) });
  put(ground, { ...was, is_deleted: true });
}

/** A message that is not of its row's tenant. */
export function forge(ground: Ground, log_id: string): void {
  const { channel, priority, work_at = '' } = ground.tables.row(log_id) ?? {};
  if (channel === undefined || priority === undefined) return;
  const routing = { version: 1, log_id, tenant_id: 'tenant-9', channel, priority } as const;
  ground.send(
    { ...routing, due: /\.\d{3}Z$/.test(work_at) ? work_at : new Date(START_MS).toISOString(), run_id: 'sweep-forged' },
    0,
  );
}

export function put(ground: Ground, row: Stored): void {
  ground.tables.log.set(String(row['log_id']), row);
  ground.show(row);
}

/** As the columns of the table document have it. */
function contentOf(recipient_address: string) {
  return { recipient_address, message_body: 'words', message_format: 'PLAIN' };
}

export type Begin = (limit: Limit, label: string, run: () => unknown, faults?: number) => void;
export type Add = (kind: string, label: string, run: () => unknown, faults?: number) => void;

/** What SQS may do with a message: show it again, or lose it. */
export function whims(ground: Ground, add: Add, begin: Begin): void {
  const { queue, now, left } = ground.state;
  for (const { id, visible_at, receives, message } of queue) {
    if (receives > 0 && visible_at > now && (left['workers'] ?? 0) > 0)
      add('again', `SQS shows ${id} again`, () => ground.updateMessage(id, { visible_at: now }), 1);
    // A letter has to come back: that of what is dead, and a copy, which is one once the attempt under way fails.
    const { work_queue, send_status } = ground.tables.log.get(message.log_id) ?? {};
    const mayBeLetter =
      promises.textOf(work_queue).startsWith('dead') || send_status === 'SENDING' || 'enqueued_at' in message;
    if (receives === 0 && !mayBeLetter) begin('losses', `SQS loses ${id}`, () => ground.drop(id), 1);
  }
}
