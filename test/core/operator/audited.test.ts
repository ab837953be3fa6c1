import { describe, expect, it } from 'vitest';
import {
  type AuditDeps,
  type AuditLog,
  type AuditRecord,
  audited,
  type KnownRequest,
  recorded,
} from '../../../src/core/operator/audit.ts';

const ACTION = {
  who: 'mori',
  role: 'operator',
  what: 'key.create',
  on: ['T1'],
  request_id: 'request-1',
  fingerprint: 'f',
};
const MADE = { answer: { key: 'shown once' }, stored: { key: 'none' }, result: { created: 1 } };

/** An audit log whose methods fail where a test says so, and a clock that the test sets. */
function setUp(failing: Partial<Record<keyof AuditLog, (record: unknown) => boolean>> = {}) {
  const requests = new Map<string, KnownRequest>();
  const records: AuditRecord[] = [];
  const faults: unknown[] = [];
  const time = { now: new Date('2026-11-01T10:00:00.000Z') };
  const failIf = (name: keyof AuditLog, argument?: unknown) => {
    if (failing[name]?.(argument)) throw new Error(`no ${name}`);
  };
  const audit: AuditLog = {
    async begin(id, request) {
      const known = requests.get(id);
      if (known === undefined) requests.set(id, request);
      return known;
    },
    async answer(id, answer) {
      failIf('answer');
      const known = requests.get(id);
      if (known !== undefined) requests.set(id, { ...known, answer });
    },
    async release(id, begun_at) {
      failIf('release');
      const known = requests.get(id);
      if (known?.begun_at === begun_at && known.answer === undefined) requests.delete(id);
    },
    async takeOver(id, was, begun_at) {
      requests.set(id, { ...was, begun_at });
      return true;
    },
    async write(record) {
      failIf('write', record);
      records.push(record);
    },
    list: async () => ({ records }),
  };
  const deps: AuditDeps = {
    audit,
    clock: () => time.now,
    newId: () => 'a',
    onRecord: () => {},
    onUnwritten: (error) => faults.push(error),
  };
  return { deps, requests, records, faults, time };
}

const isResult = (record: unknown) => (record as AuditRecord).result !== undefined;

describe('an audited action', () => {
  it('is not done where it cannot be written first', async () => {
    const { deps } = setUp({ write: () => true });
    let done = 0;
    const act = async () => {
      done += 1;
      return MADE;
    };
    await expect(audited(ACTION, deps, act)).rejects.toThrow('no write');
    await expect(recorded(ACTION, deps, act)).rejects.toThrow('no write');
    expect(done).toBe(0);
  });

  it('that took effect is answered though its result cannot be written, and never called failed', async () => {
    const { deps, records, faults, requests } = setUp({ write: isResult });
    expect(await audited(ACTION, deps, async () => MADE)).toEqual({ answer: MADE.answer, repeated: false });
    expect(records.map(({ result }) => result)).toEqual([undefined]);
    expect(faults).toEqual([new Error('no write')]);
    expect(requests.get('request-1')?.answer).toBe('{"key":"none"}');
  });

  it('that took effect is answered, and not done again, though its answer cannot be kept', async () => {
    const { deps, faults } = setUp({ answer: () => true });
    expect(await audited(ACTION, deps, async () => MADE)).toEqual({ answer: MADE.answer, repeated: false });
    expect(faults).toEqual([new Error('no answer')]);
    await expect(audited(ACTION, deps, async () => MADE)).rejects.toMatchObject({ problem: 'request-in-progress' });
  });

  it('says why it failed, even if neither that nor its end can be written', async () => {
    const { deps, faults } = setUp({ write: isResult, release: () => true });
    await expect(audited(ACTION, deps, async () => Promise.reject(new Error('down')))).rejects.toThrow('down');
    expect(faults).toEqual([new Error('no write'), new Error('no release')]);
  });

  it('that fails late leaves the answer of the one that took it over', async () => {
    const { deps, time } = setUp();
    let fail = (_: Error) => {};
    const first = audited(ACTION, deps, () => new Promise<never>((_, reject) => (fail = reject)));
    // The first one is in its action then.
    await new Promise((resolve) => setImmediate(resolve));
    time.now = new Date('2026-11-01T10:01:00.000Z');
    expect(await audited(ACTION, deps, async () => MADE)).toMatchObject({ repeated: false });
    fail(new Error('late'));
    await expect(first).rejects.toThrow('late');
    expect(await audited(ACTION, deps, async () => MADE)).toEqual({ answer: MADE.stored, repeated: true });
  });

  it('that failed may be sent again at once', async () => {
    const { deps } = setUp();
    await expect(audited(ACTION, deps, async () => Promise.reject(new Error('down')))).rejects.toThrow('down');
    expect(await audited(ACTION, deps, async () => MADE)).toMatchObject({ repeated: false });
  });
});
