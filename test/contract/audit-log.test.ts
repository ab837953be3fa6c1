import { expect, it } from 'vitest';
import { createAuditLog } from '../../src/adapters/dynamodb/console/audit-log.ts';
import type { AuditLog, AuditPlace, AuditRecord } from '../../src/core/operator/audit.ts';
import { describeOnDynamoDb } from './on-dynamodb.ts';

let serial = 0;
const fresh = () => `request-${++serial}`;
const request = { begun_at: '2026-03-01T10:00:00.000Z', fingerprint: 'f' };
const LATER = '2026-03-01T10:05:00.000Z';
const record = (at: string, who: string): AuditRecord => ({
  audit_id: `a-${++serial}`,
  at,
  who,
  role: 'operator',
  what: 'retry',
  on: ['NL1'],
  targets: 1,
  request_id: fresh(),
});

async function all(log: AuditLog, who: string, limit: number) {
  const pages: AuditRecord[][] = [];
  let after: AuditPlace | undefined;
  do {
    const page = await log.list({
      from: '2026-03-01T00:00:00.000Z',
      to: '2026-03-09T12:00:00.000Z',
      limit,
      fits: (one) => one.who === who,
      ...(after && { after }),
    });
    pages.push([...page.records]);
    after = page.next;
  } while (after !== undefined);
  return pages;
}

function suite(log: () => AuditLog): void {
  it('takes a request once, whoever asks at the same time', async () => {
    const id = fresh();
    const taken = await Promise.all([1, 2, 3].map(() => log().begin(id, request)));
    expect(taken.filter((known) => known === undefined)).toHaveLength(1);
    expect(await log().begin(id, { ...request, fingerprint: 'other' })).toEqual(request);
  });

  it('keeps the answer for repetitions, and lets a refused request come again', async () => {
    const id = fresh();
    await log().begin(id, request);
    await log().release(id, request.begun_at);
    expect(await log().begin(id, request)).toBeUndefined();
    await log().answer(id, '{"a":1}');
    await log().release(id, request.begun_at);
    expect(await log().begin(id, request)).toEqual({ ...request, answer: '{"a":1}' });
  });

  it('lets one take over what nobody ended, and nobody what was answered', async () => {
    const id = fresh();
    await log().begin(id, request);
    const won = await Promise.all([1, 2, 3].map(() => log().takeOver(id, request, LATER)));
    expect(won.filter(Boolean)).toHaveLength(1);
    await log().release(id, request.begun_at);
    expect(await log().begin(id, request)).toEqual({ ...request, begun_at: LATER });
    await log().answer(id, '{}');
    expect(await log().takeOver(id, { ...request, begun_at: LATER }, '2026-03-01T11:00:00.000Z')).toBe(false);
  });

  it('replaces a record by the one with its result', async () => {
    const begun = record('2026-03-02T10:00:00.000Z', `who-${++serial}`);
    await log().write(begun);
    await log().write({ ...begun, result: { queued: 1 } });
    expect(await all(log(), begun.who, 10)).toEqual([[{ ...begun, result: { queued: 1 } }]]);
  });

  it('lists over days, newest first, in pages that miss and repeat nothing', async () => {
    const who = `who-${++serial}`;
    const written: AuditRecord[] = [];
    for (const day of ['01', '03', '04', '09']) {
      for (const hour of ['08', '10']) written.push(record(`2026-03-${day}T${hour}:00:00.000Z`, who));
      written.push(record(`2026-03-${day}T10:00:00.000Z`, `not ${who}`));
    }
    written.push(record('2026-02-28T23:59:59.999Z', who), record('2026-03-09T12:00:00.001Z', who));
    for (const one of written) await log().write(one);
    expect((await all(log(), who, 3)).flat().map(({ at }) => at)).toEqual(
      ['09', '04', '03', '01'].flatMap((day) => [`2026-03-${day}T10:00:00.000Z`, `2026-03-${day}T08:00:00.000Z`]),
    );
  });
}

describeOnDynamoDb(
  'the audit log',
  ({ client, tables }) => createAuditLog(client, tables.audit, () => new Date()),
  suite,
);
