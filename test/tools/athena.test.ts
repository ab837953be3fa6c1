import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { toItem } from '../../src/adapters/dynamodb/table/item.ts';
import { deadRow, storedRow } from '../support/cli/operations.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';
import { hasTool, PYTHON_COMMANDS } from '../support/tools/tools.ts';

const PYTHON = join(PYTHON_COMMANDS, 'python3');
const [DUCKDB = 'none'] = globSync(join(PYTHON_COMMANDS, '..', 'lib', 'python3*', 'site-packages', 'duckdb'));
const README = readFileSync(join(PROJECT_ROOT, 'examples', 'outcomes', 'README.md'), 'utf8');
/** The table of the recipe, and its query. */
const [TABLE = '', QUERY = ''] = /```sql\n(.*?)```/s.exec(README)?.[1]?.split('\n\n') ?? [];
const ASK = `
import duckdb, json, sys
question = json.load(sys.stdin)
duckdb.sql(question["table"])
print(json.dumps(duckdb.sql(question["query"]).fetchall()))`;

/** In Athena's place: it reads the same columns and types from the same lines. */
function ask(directory: string, query: string): unknown[][] {
  const [, columns = ''] = /\((.*)\)\s*ROW FORMAT/s.exec(TABLE) ?? [];
  const [, name, type = ''] = /^(\w+) (struct.*)$/s.exec(columns) ?? [];
  const duckdb = type
    .replaceAll('struct<', 'STRUCT(')
    .replaceAll('>', ')')
    .replaceAll(':', ' ')
    .replaceAll('string', 'VARCHAR');
  const from = `read_json('${directory}/*.json.gz', format = 'newline_delimited', columns = {${name}: '${duckdb}'})`;
  const input = JSON.stringify({ table: `CREATE TABLE notification_log AS SELECT * FROM ${from}`, query });
  return JSON.parse(execFileSync(PYTHON, ['-c', ASK], { input, encoding: 'utf8' }));
}

describe.skipIf(!hasTool('DuckDB', DUCKDB))('the log in Athena', () => {
  /** As an export lays its files out below the recipe's LOCATION. */
  let data: string;
  beforeAll(() => {
    data = join(mkdtempSync(join(tmpdir(), 'notification-retry-export-')), 'AWSDynamoDB', '01700000000000-a1', 'data');
    mkdirSync(data, { recursive: true });
    const sent = storedRow('sent', { send_status: 'SUCCESS', sent_at: '2026-03-01T10:00:00.000Z' });
    const files = [[sent, storedRow('sent-too', { send_status: 'SUCCESS' })], [deadRow('dead')], []];
    for (const [at, rows] of files.entries()) {
      const lines = rows.map((row) => `${JSON.stringify({ Item: toItem(row) })}\n`).join('');
      writeFileSync(join(data, `${at}.json.gz`), gzipSync(lines));
    }
  });

  it('is read as its table says, by its query', () => {
    expect(ask(data, QUERY).sort()).toEqual([
      ['webhook', 'FAILED', 1],
      ['webhook', 'SUCCESS', 2],
    ]);
  });

  it('has the columns that its table names', () => {
    const columns = [...TABLE.matchAll(/(\w+):struct<S:string>/g)].map(([, column = '']) => column);
    expect(columns.length).toBeGreaterThan(5);
    const counts = columns.map((column) => `count(Item.${column}.S)`).join(', ');
    expect(ask(data, `SELECT ${counts} FROM notification_log`)[0]?.every((count) => Number(count) > 0)).toBe(true);
  });
});
