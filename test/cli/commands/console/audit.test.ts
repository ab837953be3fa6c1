import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuditLog } from '../../../../src/adapters/dynamodb/console/audit-log.ts';
import { parseAction } from '../../../../src/cli/commands/console/audit.ts';
import type { AuditRecord } from '../../../../src/core/operator/audit.ts';
import { userOfMachine } from '../../../../src/processes/process-identity.ts';
import { deadRow, type Operations, startOperations, storedRow } from '../../../support/cli/operations.ts';

const NOW = new Date('2026-03-05T12:00:00.000Z');

const record = (at: string, change: Partial<AuditRecord> = {}): AuditRecord => ({
  audit_id: `a-${at}`,
  at,
  who: 'ann',
  role: 'operator',
  what: 'retry',
  on: ['NL1', 'NL2'],
  targets: 7,
  request_id: `r-${at}`,
  result: { retried: 6, not_found: 1 },
  ...change,
});

describe('ops audit', () => {
  let operations: Operations;
  const at = { clock: () => NOW };
  const ids = async (...args: string[]) => {
    const { out } = await operations.run(['audit', '--local', '--json', ...args], at);
    return JSON.parse(out).entries.map(({ audit_id }: AuditRecord) => audit_id.slice(7, 12));
  };
  beforeAll(async () => {
    operations = await startOperations();
  });
  afterAll(() => operations.stop());

  it('says that nothing was done', async () => {
    expect(await operations.run(['audit', '--local'], at)).toMatchObject({
      code: 0,
      out: '',
      err: 'Nothing was done from 2026-02-26T12:00:00.000Z to 2026-03-05T12:00:00.000Z.\n',
    });
  });

  it('lists the last 7 days, newest first, by all pages of the log', async () => {
    const log = createAuditLog(operations.dynamodb, operations.tables.audit, at.clock);
    await log.write(record('2026-01-02T09:00:00.000Z'));
    await log.write(record('2026-03-01T09:00:00.000Z', { who: 'bo', what: 'key.create', on: ['K1'], targets: 1 }));
    const { result: _, ...begun } = record('2026-03-04T09:00:00.000Z', { on: ['NL3\u001b[31m'], targets: 1 });
    await log.write(begun);
    await log.write(record('2026-03-05T09:00:00.000Z'));
    const { out } = await operations.run(['audit', '--local'], at);
    expect(out.split('\n').slice(1, 3)).toEqual([
      expect.stringMatching(
        /^2026-03-05T09:00:00\.000Z +ann +operator +retry +NL1 and 6 more +1 not_found, 6 retried$/,
      ),
      expect.stringMatching(/^2026-03-04T09:00:00\.000Z +ann +operator +retry +NL3\S*\[31m +begun$/),
    ]);
    expect(out).not.toContain('\u001b[31m');
    expect(await ids()).toEqual(['03-05', '03-04', '03-01']);
    expect(await ids('--from', '2025-12-01T00:00:00Z')).toHaveLength(4);
    expect(await ids('--from', '2025-12-01T00:00:00Z', '--limit', '2')).toEqual(['03-05', '03-04']);
  });

  it('lists what one user did, one action, and what was done to one target', async () => {
    expect(await ids('--who', 'bo')).toEqual(['03-01']);
    expect(await ids('--what', 'key.create')).toEqual(['03-01']);
    expect(await ids('--target', 'NL2')).toEqual(['03-05']);
    expect(await ids('--target', 'NL9')).toEqual([]);
  });

  it('refuses a period that ends before it begins', async () => {
    const ended = await operations.run(
      ['audit', '--local', '--from', '2026-03-05T00:00:00Z', '--to', '2026-03-04T00:00:00Z'],
      at,
    );
    expect(ended).toMatchObject({ code: 2, err: expect.stringContaining('exchange them') });
  });
});

describe('who a command names in the audit log', () => {
  const ARN = 'arn:aws:sts::123456789012:assumed-role/Operators/mori';
  let operations: Operations;
  beforeAll(async () => {
    operations = await startOperations();
    await operations.put(storedRow('due'));
  });
  afterAll(() => operations.stop());
  const by = (operator: () => Promise<string>) => ({
    findDeployment: async () => ({ ...operations.deployment, operator }),
  });
  const whoDid = async (what: string) =>
    (await operations.json<{ entries: AuditRecord[] }>('audit', '--what', what)).entries.map(({ who }) => who);

  it('is whom AWS names, asked once', async () => {
    let asked = 0;
    const operator = async () => {
      asked += 1;
      return ARN;
    };
    expect((await operations.run(['replay', '--yes'], by(operator))).code).toBe(0);
    expect((await operations.run(['retry', 'due'], by(operator))).code).toBe(0);
    expect([await whoDid('retry'), await whoDid('operation.create'), asked]).toEqual([[ARN], [ARN], 2]);
  });

  it('is nobody where AWS does not say: then it does nothing', async () => {
    const before = await operations.row('due');
    const operator = () => Promise.reject(new Error('AWS does not say whose credentials these are'));
    const { code, err } = await operations.run(['cancel', 'due'], by(operator));
    expect([code, err]).toEqual([1, expect.stringContaining('AWS does not say')]);
    expect(await operations.row('due')).toEqual(before);
  });

  it('is the user of the machine at the local runtime', async () => {
    await operations.run(['cancel', 'due', '--local']);
    expect(await whoDid('cancel')).toEqual([userOfMachine()]);
  });
});

describe('a command that cannot write the audit log', () => {
  let operations: Operations;
  beforeAll(async () => {
    operations = await startOperations();
    const letter = { version: 1, log_id: 'dead', tenant_id: 'T1', channel: 'webhook', priority: 'normal', run_id: 'r' };
    const dead_message_id = await operations.sendDeadLetter('webhook', { ...letter, due: NOW.toISOString() });
    await operations.put(storedRow('due'), deadRow('dead', { dead_message_id }));
  });
  afterAll(() => operations.stop());

  it.each([
    [['retry', 'due']],
    [['cancel', 'due']],
    [['replay', '--yes']],
    [['dlq', 'drop', 'dead', '--yes']],
    [['dlq', 'redrive', '--channel', 'webhook', '--yes']],
    [['keys', 'create', '--tenant', 'T1', '--scope', 'send']],
    [['members', 'suppress', '--email', 'm@example.com', '--tenant', 'T1']],
    [['senders', 'allow', 'news@example.com', '--tenant', 'T1']],
    [['members', 'show', '--email', 'm@example.com', '--tenant', 'T1']],
  ])('does nothing: %j', async (args) => {
    const { deployment } = operations;
    const findDeployment = async () => ({ ...deployment, tables: { ...deployment.tables, audit: 'no-such-table' } });
    const before = await Promise.all([operations.row('due'), operations.row('dead')]);
    const { code, out } = await operations.run([...args, '--local', '--json'], { findDeployment });
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(await Promise.all([operations.row('due'), operations.row('dead')])).toEqual(before);
    expect(await operations.takeAll()).toEqual([]);
    expect(await operations.json('keys', 'list')).toEqual({ keys: [] });
    expect(await operations.json<{ dead_letters: object[] }>('dlq', 'list')).toMatchObject({ dead_letters: [{}] });
  });
});

describe('the action that `ops audit --what` asks for', () => {
  it('is refused when no decision has such a name', () => {
    expect(() => parseAction('nope')).toThrow('operation.start');
    expect(() => parseAction('key.')).toThrow('operation.start');
  });

  it('is accepted for every decision of the sources', () => {
    const sources = ['src/application', 'src/cli/commands'].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .map((file) => readFileSync(join(folder, file), 'utf8')),
    );
    const decided = sources.flatMap((text) =>
      [
        ...text.matchAll(
          /\b(?:audit = |audit: |decisionOf\(\s*)(?:\w+(?:\.\w+)? \? (?:undefined : )?)?\{\s*what: (?:'([\w.]+)'|`([\w.]+)\$\{)/g,
        ),
      ].map(([, whole, start]) => whole ?? `${start}x`),
    );
    expect(decided.length).toBeGreaterThan(20);
    for (const what of decided) expect(parseAction(what)).toBe(what);
  });
});
