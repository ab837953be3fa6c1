import { marshall } from '@aws-sdk/util-dynamodb';
import { describe, expect, it } from 'vitest';
import { FOREIGN_ROWS } from '../../lib/constructs/indexing/indexer-stream-filter.ts';
import { deliverBatch } from '../../src/core/delivery/deliver.ts';
import type { SendResult } from '../../src/core/delivery/sender.ts';
import { indexRow, type RowImage } from '../../src/core/indexing/index-row.ts';
import { hasContent, type NotificationRow } from '../../src/core/model/notification.ts';
import { matchesAny } from '../../src/local/emulator/events/event-filter.ts';
import { refused, setUp } from '../support/delivering.ts';
import { at, dueRow, messageFor, received, T0 } from '../support/rows.ts';

const OLD = 'https://example.com/hook';
const NEW = 'https://example.com/corrected';
const CORRECTION = { recipient_address: NEW, message_body: 'corrected', updated_at: 'by its writer' };
const HOUR = 3_600_000;
const ACCEPTED: SendResult = { ok: true, response_code: '200' };

/** A row that was taken in, its writer, the stream with the deployed filter, the indexer, and a worker. */
function world(answer: (recipient: string) => SendResult | Promise<SendResult>) {
  let now = T0.getTime();
  const clock = () => new Date(now);
  const sent: string[] = [];
  const world = setUp(
    ({ content: { recipient } }) => {
      sent.push(recipient);
      return answer(recipient);
    },
    { clock },
  );
  const { tables, deps } = world;
  const images: RowImage[] = [];
  const filters = FOREIGN_ROWS.map(({ pattern }) => JSON.parse(pattern));
  const set = tables.log.set.bind(tables.log);
  let sequence = 0;
  tables.log.set = (log_id, row) => {
    sequence += 1;
    const NewImage = JSON.parse(JSON.stringify(marshall(row, { removeUndefinedValues: true })));
    if (matchesAny(filters, { eventName: 'MODIFY', dynamodb: { NewImage } }))
      images.push({ row, sequence: `${sequence}` });
    return set(log_id, row);
  };
  const put = (row: NotificationRow) => {
    world.put({ ...row, ...({ history_bucket: '2026-03-01#1', notification_type: 'WEBHOOK' } as object) });
    images.length = 0;
  };
  const row = () => tables.row('log-1') as NotificationRow;
  return {
    sent,
    put,
    row,
    tables,
    images,
    writes: () => sequence,
    correct: (more: object = {}) => tables.log.set('log-1', { ...tables.log.get('log-1'), ...CORRECTION, ...more }),
    /** The indexer reads what the stream has for it. */
    index: async () => {
      for (const image of images.splice(0)) await indexRow(image, { store: tables, policy: deps.policy, clock });
    },
    /** A worker gets a message for the row as it is. */
    work: async () => (await deliverBatch([received(messageFor(row()))], deps))[0],
    pass: (ms: number) => {
      now += ms;
    },
    inTheClear: () => hasContent(tables.log.get('log-1') ?? {}),
  };
}

const TAKEN = { updated_by: 'notification-retry' } as Partial<NotificationRow>;

describe('a writer that corrects recipient and body of a row in work', () => {
  it.each([
    ['and leaves our name', {}],
    ['and signs', { updated_by: 'user-1' }],
  ])('%s: no attempt goes to the old recipient, though a worker is faster than the indexer', async (_, signed) => {
    const { put, correct, work, index, pass, row, sent, inTheClear } = world(() => ACCEPTED);
    put(dueRow(TAKEN));
    correct(signed);
    expect(await work()).toMatchObject({
      held_by: { content: 'replaced' },
      verdict: { status: 'RETRY', counted: false },
    });
    expect(sent).toEqual([]);
    await index();
    expect(inTheClear()).toBe(false);
    expect(row()).toMatchObject({ send_attempts: 1, attempts_left: 5, recipient_hash: `hash of tenant-1/${NEW}` });
    pass(HOUR);
    await work();
    expect(sent).toEqual([NEW]);
    expect(row()).toMatchObject({ send_status: 'SUCCESS' });
  });

  it.each([
    ['is delivered', ACCEPTED, 'SUCCESS', [OLD]],
    ['is retried', refused('NETWORK_TIMEOUT'), 'SUCCESS', [OLD, NEW]],
    ['is given up', refused('INVALID_RECIPIENT'), 'FAILED', [OLD]],
    ['dies', refused('AUTH_FAILED'), 'SUCCESS', [OLD, NEW]],
  ])('during an attempt, after which it %s: the settlement shows the correction again', async (_, first, end, to) => {
    let corrected = false;
    const { put, correct, work, index, pass, row, sent, inTheClear } = world(async (recipient) => {
      if (recipient !== OLD || corrected) return ACCEPTED;
      corrected = true;
      correct();
      await index();
      return first;
    });
    put(dueRow(TAKEN));
    await work();
    expect(inTheClear()).toBe(true);
    await index();
    expect(inTheClear()).toBe(false);
    pass(HOUR);
    await work();
    expect(row()).toMatchObject({ send_status: end });
    expect(sent).toEqual(to);
  });

  it.each([
    ['the recipient', { recipient_address: NEW }, { recipient: NEW, body: 'Hello', subject: '件名' }],
    ['the body', { message_body: 'corrected' }, { recipient: OLD, body: 'corrected', subject: '件名' }],
    ['the subject', { subject: '新しい件名' }, { recipient: OLD, body: 'Hello', subject: '新しい件名' }],
  ])('but only %s: the rest stays as it is stored', async (_, part, content) => {
    const { put, tables, index, work, pass, row, inTheClear } = world(() => ACCEPTED);
    put(dueRow({ ...TAKEN, provider_host: 'example.com', recipient_hash: 'old' }));
    tables.log.set('log-1', { ...tables.log.get('log-1'), ...part });
    await index();
    expect(inTheClear()).toBe(false);
    expect(tables.content.get('log-1')).toMatchObject(content);
    expect(row()).toMatchObject({
      provider_host: 'example.com',
      recipient_hash: 'recipient_address' in part ? `hash of tenant-1/${NEW}` : 'old',
    });
    pass(HOUR);
    await work();
    expect(row()).toMatchObject({ send_status: 'SUCCESS' });
  });

  it('but only the recipient, and whose tenant is another now: the content of the old one stays with it', async () => {
    const { put, tables, index, row } = world(() => ACCEPTED);
    put(dueRow(TAKEN));
    tables.log.set('log-1', { ...tables.log.get('log-1'), tenant_id: 'tenant-2', recipient_address: NEW });
    await index();
    expect(row()).toMatchObject({ failure_reason: 'FORMAT_ERROR' });
    expect(tables.content.get('log-1')).toMatchObject({ tenant_id: 'tenant-1', recipient: OLD });
  });

  it('whose worker died: the takeover shows the correction again', async () => {
    const { put, correct, work, index, pass, sent, row, inTheClear } = world(() => ACCEPTED);
    const claim_until = at(65_000).toISOString();
    put(dueRow({ ...TAKEN, send_status: 'SENDING', claim_until, claim_id: 'dead', send_attempts: 2, last_attempt: 1 }));
    correct();
    await index();
    expect(inTheClear()).toBe(true);
    pass(HOUR);
    await work();
    await index();
    expect(inTheClear()).toBe(false);
    pass(HOUR);
    await work();
    expect(sent).toEqual([NEW]);
    expect(row()).toMatchObject({ send_status: 'SUCCESS' });
  });
});

describe('a writer that corrects a row that is given up', () => {
  it.each([
    ['after an attempt', { work_at: T0.toISOString(), failure_reason: 'INVALID_RECIPIENT' }],
    ['by an operator', { work_at: T0.toISOString(), failure_reason: 'CANCELLED' }],
  ] as const)(
    '%s, without removing the reason: its content leaves the row, and the reason stands',
    async (_, given) => {
      const { put, correct, index, row, tables, inTheClear } = world(() => ACCEPTED);
      const { work_queue: _1, ...rest } = dueRow({ ...TAKEN, ...given });
      put(rest);
      correct();
      await index();
      expect(inTheClear()).toBe(false);
      expect(tables.content.get('log-1')).toMatchObject({ recipient: NEW, body: 'corrected' });
      expect(row()).toMatchObject({ failure_reason: given.failure_reason });
      expect(row()).not.toHaveProperty('work_queue');
    },
  );
});

it('costs nothing for a row that nobody edits: no image for the indexer, no write beside claim and settlement', async () => {
  const { put, work, row, images, writes } = world(() => refused('NETWORK_TIMEOUT'));
  put(dueRow(TAKEN));
  const before = writes();
  await work();
  expect(row()).toMatchObject({ send_status: 'RETRY' });
  expect({ images, writes: writes() - before }).toEqual({ images: [], writes: 2 });
});
