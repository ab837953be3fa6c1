import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Operations, startOperations } from '../../../support/cli/operations.ts';

let ops: Operations;
beforeAll(async () => {
  ops = await startOperations();
}, 60_000);
afterAll(() => ops?.stop());

const now = new Date().toISOString();
const row = (id: string, changes: object = {}) => ({
  id,
  tenant_id: 'T1',
  notification_type: 'SLACK',
  recipient_address: '#general',
  message_body: 'Hello',
  send_status: 'FAILED',
  created_at: now,
  ...changes,
});
const ROWS = [
  row('NL1'),
  row('NL2', { send_status: 'PENDING', scheduled_at: '2026-01-01 00:00:00' }),
  row('NL3', { send_status: 'SUCCESS', sent_at: '2026-11-01 10:30:15' }),
  row('NL4', { tenant_id: 'T2' }),
  row('NL5', { notification_type: 'FAX', recipient_address: 'someone@example.com' }),
  row('NL1'),
];
const COUNTS = { sent: 1, given_up: 1, kept: 1, known: 1, of_other_tenants: 1, set_aside: 1 };

function file(name: string, text: string): string {
  const path = join(ops.directory, name);
  writeFileSync(path, text);
  return path;
}
const importOf = (path: string, ...args: readonly string[]) =>
  ops.run(['rows', 'import', path, '--tenant', 'T1', ...args]);
const rows = async () => {
  const { Items = [] } = await ops.dynamodb.send(new ScanCommand({ TableName: ops.tables.notification_log }));
  return Items.map((item) => unmarshall(item));
};

describe('rows import', () => {
  it('says what would become of each row, and writes none', async () => {
    const { code, out, err } = await importOf(file('dry.json', JSON.stringify(ROWS)), '--dry-run', '--json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toEqual({ dry_run: true, rows: 6, ...COUNTS, left_out: [] });
    expect(err).toBe(
      'Row 5 (NL5): notification_type breaks chk_notification_log_type: expected one of EMAIL, SLACK, TEAMS, WEBHOOK.\n',
    );
    expect(await rows()).toEqual([]);
  });

  it('puts each row once as its writer would, and names what it sets aside', async () => {
    const path = file('rows.json', JSON.stringify(ROWS));
    const rejects = join(ops.directory, 'rejects.jsonl');
    const { out } = await importOf(path, '--rejects', rejects);
    expect(out).toContain('6 rows read. Imported 3: 1 to be sent, 1 given up by their limits, 1 kept for lookups.');
    const { id: log_id, ...rest } = row('NL1');
    expect(await ops.row('NL1')).toEqual({ ...rest, log_id });
    expect((await rows()).length).toBe(3);
    const [fault] = readFileSync(rejects, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(fault).toMatchObject({ row: 5, log_id: 'NL5', column: 'notification_type' });
    expect(readFileSync(rejects, 'utf8')).not.toContain('someone@example.com');
    const { entries } = await ops.json<{ entries: readonly object[] }>('audit');
    expect(entries[0]).toMatchObject({ what: 'row.import', on: ['T1'], result: COUNTS });

    const again = await importOf(path, '--json');
    expect(JSON.parse(again.out)).toMatchObject({ sent: 0, given_up: 0, kept: 0, known: 4 });
  });

  it('takes nothing in the place of a row of another tenant', async () => {
    const path = file('taken.json', JSON.stringify([row('NL1', { tenant_id: 'T9' })]));
    const { err } = await ops.run(['rows', 'import', path, '--tenant', 'T9']);
    expect(err).toContain('Row 1 (NL1): log_id breaks PRIMARY KEY: expected one that no other tenant has.');
  });

  it('goes on where storage failed', async () => {
    const path = file('long.json', JSON.stringify(Array.from({ length: 120 }, (_, n) => row(`LONG${n}`))));
    const requests = ops.dynamodb.config.requestHandler.constructor.prototype;
    const { handle } = requests;
    let calls = 0;
    const spy = vi.spyOn(requests, 'handle').mockImplementation(function (this: unknown, ...args) {
      // In the middle of the second window, after the audit log's.
      return ++calls > 75 ? Promise.reject(new Error('down')) : handle.apply(this, args);
    });
    const stopped = await importOf(path);
    spy.mockRestore();
    expect(stopped).toMatchObject({ code: 1, err: expect.stringContaining('The import stopped after row 50.') });
    const { out, err } = await importOf(path, '--json');
    expect(err).toContain('Continuing after row 50.');
    const counts = JSON.parse(out);
    expect(counts.sent + counts.known).toBe(120);
    expect((await rows()).filter(({ log_id }) => String(log_id).startsWith('LONG'))).toHaveLength(120);
  });

  it.each([
    ['one row per line', [row('A1'), row('A2')].map((one) => JSON.stringify(one)).join('\r\n')],
    ['one row with a list in it', JSON.stringify(row('A1', { error_details: ['no', 'channel'] }))],
    ['a list in an object', JSON.stringify({ HIS_NotificationLog: [row('A1'), row('A2')] })],
  ])('takes %s', async (_, text) => {
    const { out } = await importOf(file('form.json', text), '--dry-run', '--json');
    expect(JSON.parse(out)).toMatchObject({ rows: text.split('"tenant_id"').length - 1, set_aside: 0 });
  });

  it('takes numbers as ids, and names a column as the file does', async () => {
    const path = file(
      'numbers.json',
      JSON.stringify([row('x', { id: 4711, setting_id: 7, response_code: 503 }), row('')]),
    );
    const { out, err } = await importOf(path, '--json');
    expect(JSON.parse(out)).toMatchObject({ sent: 1, set_aside: 1 });
    expect(await ops.row('4711')).toMatchObject({ setting_id: '7', response_code: '503' });
    expect(err).toContain('Row 2: id breaks NOT NULL: expected a value that is not empty, as id or log_id.');
  });

  it('ends in order when it is asked to, and goes on there', async () => {
    const path = file('ended.json', JSON.stringify(Array.from({ length: 120 }, (_, n) => row(`END${n}`))));
    let looks = 0;
    const asked = Object.defineProperty(new AbortController().signal, 'aborted', { get: () => ++looks > 1 });
    const interruption = () => ({ signal: asked, exitCode: () => 130 });
    const ended = await ops.run(['rows', 'import', path, '--tenant', 'T1'], { interruption });
    expect(ended).toMatchObject({ code: 130, err: expect.stringContaining('The import stopped after row 50.') });
    const { out } = await importOf(path, '--json');
    expect(JSON.parse(out)).toMatchObject({ rows: 120, sent: 120 });
  });

  it.each([
    ['id,tenant_id\nNL1,T1', 'is neither a JSON list of rows nor one row in JSON per line.'],
    ['', 'is empty.'],
    ['{"id":"A1"}\n{"id":"A2"', 'has no JSON in line 2.'],
    ['{"first":[],"second":[]}', 'has several lists, first, second: leave one.'],
  ])('refuses %o', async (text, why) => {
    const { code, err } = await importOf(file('bad.json', text));
    expect(code).toBe(2);
    expect(err).toContain(why);
  });
});
