import { describe, expect, it } from 'vitest';
import { toItem } from '../../../src/adapters/dynamodb/table/item.ts';
import { recipientHash } from '../../../src/adapters/signing/hashed-ids.ts';
import { deliverBatch } from '../../../src/core/delivery/deliver.ts';
import { PASS_THROUGH, type SendResult } from '../../../src/core/delivery/ports.ts';
import { indexRow } from '../../../src/core/indexing/index-row.ts';
import { DEFAULT_RETRY_POLICY as policy } from '../../../src/core/model/retry-policy.ts';
import { bodyOf, failedRow } from '../../../tools/bench/setup/rows.ts';
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import { itemSize } from '../../support/item-size.ts';
import { messageFor, received, T0 } from '../../support/rows.ts';

const RECIPIENT = `https://${'long-name-of-a-host.'.repeat(4)}example.com/hooks/1`;
const ENDS = { integration: '5b7c3a2e-0d55-4b43-9a3e-0c9f6f9c2b11' };

type Columns = Readonly<Record<string, unknown>>;

/** A row after `answers`, with its size in bytes as each claim and each settlement left it. */
async function lived(answers: readonly SendResult[], shape: object, without: readonly string[] = []) {
  let now = T0.getTime();
  const clock = () => new Date(now);
  const tables = new MemoryTables(clock);
  const whole = failedRow({ channel: 'webhook', recipient: RECIPIENT, body: bodyOf(2_000), ...shape }, T0);
  const image = Object.fromEntries(Object.entries(whole).filter(([name]) => !without.includes(name)));
  const log_id = String(image['log_id']);
  tables.log.set(log_id, { ...image });
  expect(await indexRow({ row: image, sequence: '1' }, { store: tables, policy, clock })).toEqual({
    outcome: 'indexed',
  });
  const row = (): Columns => tables.log.get(log_id) ?? {};
  tables.log.set(log_id, { ...row(), recipient_hash: recipientHash('key', 'TENANT001', RECIPIENT) });
  const sizes: number[] = [];
  const weigh = () => void sizes.push(itemSize(toItem(row())));
  for (const answer of answers) {
    const due = tables.row(log_id);
    if (due === undefined) throw new Error('The row is gone.');
    now = Date.parse(due.work_at ?? '');
    const message = messageFor(due, { run_id: 'sweep-5b7c3a2e-0d55-4b43-9a3e-0c9f6f9c2b11' });
    const send = async () => {
      weigh();
      return answer;
    };
    await deliverBatch([received(message, { message_id: '5b7c3a2e-0d55-4b43-9a3e-0c9f6f9c2b11' })], {
      rows: tables.rows,
      records: tables.records,
      contents: tables.contents,
      sender: { send },
      gate: PASS_THROUGH,
      successors: tables.successors,
      retries: { send: async () => {} },
      policy,
      clock,
      random: () => 0,
      claim_ms: 65_000,
      pause: async () => {},
      timeLeft: () => 60_000,
      inSendTime: (send) => send(new AbortController().signal),
    });
    weigh();
  }
  return { row: row(), sizes, details: JSON.parse(String(row()['error_details'] || 'null')) as unknown };
}

const overload: SendResult = {
  ok: false,
  error_type: 'SERVER_OVERLOAD',
  response_code: '503',
  message: 'the endpoint answered 503',
};
/** Near enough that its message is queued at once. */
const limited: SendResult = { ...overload, error_type: 'RATE_LIMITED', response_code: '429', retry_after_ms: 1000 };

/** A write costs one unit per started kilobyte, and every attempt writes its row twice: the row stays below one. */
describe('a row with every column of the table document', () => {
  it.each([
    ['an integration', ENDS],
    ['the host of its recipient instead', {}],
  ])('and %s stays below a kilobyte in every claim and settlement', async (_, shape) => {
    const { row, sizes } = await lived([limited, overload, { ok: true, response_code: '200' }], shape);
    expect(row['send_status']).toBe('SUCCESS');
    expect(row['error_details'] ?? '').toBe('');
    expect(sizes).toHaveLength(6);
    expect(Math.max(...sizes), sizes.join()).toBeLessThanOrEqual(1024);
  });

  it('describes its last failure as far as it fits', async () => {
    const at = T0.toISOString();
    const type = 'SERVER_OVERLOAD';
    const message = 'the endpoint answered 503';
    const unused = ['setting_id', 'template_id'];
    expect((await lived([overload], ENDS)).details).toEqual({ attempt: 1 });
    expect((await lived([overload], {}, unused.slice(0, 1))).details).toEqual({ attempt: 1, at, type });
    const whole = { attempt: 1, at, type, code: '503', message };
    const { message: _, ...rest } = whole;
    expect((await lived([overload], ENDS, unused)).details).toEqual(rest);
    expect((await lived([overload], ENDS, [...unused, 'scheduled_at'])).details).toEqual(whole);
    // Two bytes of the unit are left beside the letter of a death: fewer than the column's name takes.
    const dead = await lived([{ ...overload, error_type: 'AUTH_FAILED' }], ENDS, unused);
    expect([dead.details, dead.sizes.at(-1)]).toEqual([null, 1022]);
  });

  it('needs no second unit for a long message', async () => {
    const long = { ...overload, message: '接続が切れました。'.repeat(20) };
    const { details, sizes } = await lived([long, long], ENDS, ['setting_id', 'template_id', 'priority_level']);
    expect(details).toMatchObject({ attempt: 2 });
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2048);
  });
});
