import { describe, expect, it } from 'vitest';
import { OWN_COLUMN_RULES } from '../../src/core/model/work-rules.ts';
import { failedRow } from '../../tools/bench/setup/rows.ts';
import { writerPolicy } from '../../tools/smoke/writer.ts';
import { T0 } from '../support/rows.ts';

/** Whether IAM lets a writer name these attributes in one request. */
function mayWrite(columns: readonly string[]): boolean {
  const allowed = writerPolicy().Condition['ForAllValues:StringEquals']['dynamodb:Attributes'];
  return columns.every((column) => allowed.includes(column));
}

const KEYS = ['work_queue', 'work_at', 'history_bucket', 'tenant_created_at', 'notification_key', 'expires_at'];
/** Columns of the table document that others write, too. */
const SHARED = ['first_attempt_at', 'delivered_at', 'opened_at'];

describe('the documented policy for writers', () => {
  it('lets BATCH-951 write its rows', () => {
    const row = failedRow({ channel: 'webhook', recipient: 'x', body: 'x', integration: 'IC001' }, T0);
    expect(mayWrite([...Object.keys(row), 'channel', 'next_retry_at', 'retry_count', 'fallback_recipient'])).toBe(true);
  });

  it.each([...OWN_COLUMN_RULES.map(({ column }) => column).filter((column) => !SHARED.includes(column)), ...KEYS])(
    'keeps writers from %s',
    (column) => expect(mayWrite(['log_id', 'send_status', column])).toBe(false),
  );

  it('lets a writer take failure_reason away from a row that it corrects', () => {
    expect(mayWrite(['log_id', 'notification_type', 'failure_reason'])).toBe(true);
  });

  it('allows single writes only, no deletion, and no request without attributes', () => {
    const { Effect, Action, Condition } = writerPolicy();
    expect(Effect).toBe('Allow');
    // Who may write a batch may delete by it.
    expect(Action).toEqual(['dynamodb:PutItem', 'dynamodb:UpdateItem']);
    expect(Condition.Null).toEqual({ 'dynamodb:Attributes': 'false' });
  });
});
