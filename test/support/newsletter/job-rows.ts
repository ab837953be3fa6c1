import { countStates } from '../../../src/core/newsletter/accounting/counts.ts';
import type { Batch, Chunk, ChunkState, Recipient } from '../../../src/core/newsletter/model/batch.ts';
import type { Email, EmailContent } from '../../../src/core/newsletter/model/email.ts';

const AT = '2026-03-01T10:00:00.000Z';

export function emailRow(changes: Partial<Email> = {}): Email {
  return {
    email_id: 'email-1',
    tenant_id: 'tenant-1',
    newsletter_id: 'news',
    status: 'pending',
    paused: false,
    version: 1,
    slots: {},
    created_at: AT,
    updated_at: AT,
    expires_at: 1_900_000_000,
    ...changes,
  };
}

export function emailContent(changes: Partial<EmailContent> = {}): EmailContent {
  return {
    subject: 'Hello',
    body: 'Dear {name, "reader"}',
    format: 'text',
    newsletter: {
      tenant_id: 'tenant-1',
      newsletter_id: 'news',
      name: 'News',
      from: 'News <news@example.com>',
      created_at: AT,
      updated_at: AT,
    },
    ...changes,
  };
}

export function batchRow(changes: Partial<Batch> = {}): Batch {
  return {
    email_id: 'email-1',
    batch_id: '00000',
    tenant_id: 'tenant-1',
    status: 'pending',
    version: 1,
    rendering: 0,
    member_segment: '',
    fallback_sending_domain: false,
    chunks: 1,
    counts: { pending: 3, submitted: 0, excluded: 0, failed: 0, uncertain: 0 },
    excluded_by_reason: {},
    failed_by_reason: {},
    created_at: AT,
    updated_at: AT,
    ...changes,
  };
}

export function recipient(n: number, changes: Partial<Recipient> = {}): Recipient {
  return { member_id: `m-${n}`, member_uuid: `uuid-${n}`, member_email: `m${n}@example.com`, ...changes };
}

export function chunkOf(count: number, changes: Partial<Chunk> = {}): Chunk {
  const recipients = Array.from({ length: count }, (_, n) => recipient(n));
  return { email_id: 'email-1', batch_id: '00000', chunk: 0, tenant_id: 'tenant-1', recipients, ...changes };
}

export function chunkState(states: string, changes: Partial<ChunkState> = {}): ChunkState {
  return {
    email_id: 'email-1',
    batch_id: '00000',
    chunk: 0,
    version: 1,
    states,
    reasons: {},
    tries: {},
    unanswered: {},
    message_ids: {},
    processed: {},
    ...changes,
  };
}

/** The next state of a chunk that became uncertain at this time. */
export function lostAt({ email_id: _, batch_id: __, chunk: ___, version: ____, ...rest }: ChunkState, at: string) {
  return { ...rest, uncertain_at: at };
}

/** A batch whose counts fit the states of its chunks. */
export function batchFor(states: readonly ChunkState[], changes: Partial<Batch> = {}): Batch {
  const counts = countStates(states.map(({ states: codes }) => codes).join(''));
  return batchRow({ chunks: states.length, counts, ...changes });
}
