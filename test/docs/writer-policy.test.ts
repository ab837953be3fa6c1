import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { failedRow } from '../../bench/setup/rows.ts';
import { OWN_COLUMN_RULES } from '../../src/core/model/work/work-rules.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';
import { T0 } from '../support/rows.ts';

interface Statement {
  readonly Effect: string;
  readonly Action: readonly string[];
  readonly Condition: {
    readonly 'ForAllValues:StringEquals': { readonly 'dynamodb:Attributes': readonly string[] };
    readonly Null: Readonly<Record<string, string>>;
  };
}

/** The policy for writers, as an administrator copies it from the runbook. */
function policy(): Statement {
  const runbook = readFileSync(join(PROJECT_ROOT, 'docs/runbook.md'), 'utf8');
  const json = /### Rights of writers.*?```json\n(.*?)```/s.exec(runbook)?.[1] ?? '{}';
  const [statement] = (JSON.parse(json) as { readonly Statement: readonly Statement[] }).Statement;
  if (statement === undefined) throw new Error('The runbook has no policy for writers.');
  return statement;
}

/** Whether IAM lets a writer name these attributes in one request. */
function mayWrite(columns: readonly string[]): boolean {
  const allowed = policy().Condition['ForAllValues:StringEquals']['dynamodb:Attributes'];
  return columns.every((column) => allowed.includes(column));
}

const KEYS = ['work_queue', 'work_at', 'history_bucket', 'tenant_created_at', 'notification_key', 'expires_at'];
/** Columns of the table document that others write, too. */
const SHARED = ['first_attempt_at', 'delivered_at', 'opened_at'];

describe("the runbook's policy for writers", () => {
  it('lets BATCH-951 write its rows', () => {
    const row = failedRow({ channel: 'webhook', recipient: 'x', body: 'x', integration: 'IC001' }, T0);
    expect(mayWrite([...Object.keys(row), 'channel', 'next_retry_at', 'retry_count', 'fallback_recipient'])).toBe(true);
  });

  it.each([...OWN_COLUMN_RULES.map(({ column }) => column).filter((column) => !SHARED.includes(column)), ...KEYS])(
    'keeps writers from %s',
    (column) => {
      expect(mayWrite(['log_id', 'send_status', column])).toBe(false);
    },
  );

  it('lets a writer take failure_reason away from a row that it corrects', () => {
    expect(mayWrite(['log_id', 'notification_type', 'failure_reason'])).toBe(true);
  });

  it('allows single writes only, and no request without attributes', () => {
    const { Effect, Action, Condition } = policy();
    expect(Effect).toBe('Allow');
    expect(Action).toEqual(['dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:BatchWriteItem']);
    expect(Condition.Null).toEqual({ 'dynamodb:Attributes': 'false' });
  });
});
