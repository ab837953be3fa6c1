import { describe, expect, it } from 'vitest';
import { acted } from '../../tools/simulation/audit/actor-promises.ts';
import * as allowances from '../../tools/simulation/audit/allowance-promises.ts';
import * as ends from '../../tools/simulation/audit/end-promises.ts';
import { corrected, neverTried } from '../../tools/simulation/audit/life-promises.ts';
import { type Memory, NOTHING_YET } from '../../tools/simulation/audit/memory.ts';
import * as promises from '../../tools/simulation/audit/promises.ts';

const NOW = Date.parse('2026-03-01T10:30:00.000Z');
const at = (ms: number) => new Date(NOW + ms).toISOString();
const ROW = {
  log_id: 'n1',
  priority: 'info',
  send_status: 'SENDING',
  last_attempt: 1,
  claim_id: 'b',
  send_attempts: 2,
};
const SEND = {
  log_id: 'n1',
  attempt: 1,
  by: 'worker',
  recipient: 'n1@example.com',
  now: NOW,
  late: false,
  left_ms: 60_000,
};
const RECORD = { original_log_id: 'n1', retry_attempt: 1, retry_status: 'SUCCESS', retry_at: at(0) };
const accepted = () => promises.accepted(NOTHING_YET, SEND).memory;

describe('a send', () => {
  it.each([
    ['by the holder of the claim', {}, ROW, []],
    ['of a row that is not claimed', {}, { ...ROW, send_status: 'RETRY' }, ['2: sent while its row is RETRY']],
    ['by an older claim', {}, { ...ROW, last_attempt: 2 }, ['2: sent by a claim that another one has followed']],
    ['that comes late, of a row that is settled', { late: true }, { ...ROW, send_status: 'RETRY' }, []],
    [
      'without the time to note it',
      { left_ms: 22_000 },
      ROW,
      ['13: sent by a function whose time may end before the record'],
    ],
    ['to someone else', { recipient: 'n2@example.com' }, ROW, ['9: sent to another recipient']],
  ])('%s', (_, send, row, violations) => {
    expect(promises.sent(NOTHING_YET, { ...SEND, ...send }, row, []).violations).toEqual(violations);
  });

  it.each(['n1-fallback', 'n1-fallback-3'])('of %s, for whom the writer of n1 has named since', (log_id) => {
    const to = { ...SEND, log_id, recipient: 'new-n1-fallback@example.com' };
    const named = { ...NOTHING_YET, elsewhere: ['n1'] };
    expect(promises.sent(named, to, ROW, []).violations).toEqual([]);
    expect(promises.sent(NOTHING_YET, to, ROW, []).violations).toEqual(['9: sent to another recipient']);
  });

  it('before it is due', () => {
    const before = { retry_attempt: 0, next_retry_at: at(1_000) };
    const judge = (row: object) => promises.sent(NOTHING_YET, SEND, { ...ROW, ...row }, [before]).violations;
    expect(judge({ work_at: at(1_000) })).toEqual(['7: sent before it was due']);
    // An operator has made it due since.
    expect(judge({ work_at: at(0) })).toEqual([]);
  });

  it('after it was recorded as delivered', () => {
    const { memory } = promises.recorded(accepted(), RECORD, 'worker');
    expect(promises.sent(memory, SEND, ROW, []).violations).toEqual(['5: sent after it was recorded as delivered']);
  });

  it('by a claim that knew that the notification had arrived', () => {
    const was = { ...ROW, send_status: 'RETRY', claim_id: 'a' };
    const row = { ...ROW, delivery_by_attempt: { 0: 'delivered' } };
    const { memory } = promises.written(NOTHING_YET, was, row, { by: 'worker', now: NOW });
    expect(promises.sent(memory, SEND, row, []).violations).toEqual([
      '5: sent although its claim knew that it had arrived',
    ]);
  });
});

describe('a second acceptance', () => {
  const again = (memory: Memory) => promises.accepted(memory, { ...SEND, attempt: 2 }).violations;

  it.each([
    ['without a reason', accepted()],
    ['of one that was recorded', promises.recorded(accepted(), RECORD, 'worker').memory],
    ['of one that its row has noted', noted()],
    [
      'of one whose worker recorded it before it died',
      promises.died(promises.recorded(accepted(), RECORD, 'worker').memory, 'worker'),
    ],
  ])('%s is a duplicate', (_, memory) => {
    expect(again(memory)).toEqual(['3: a duplicate without a death or a lost answer']);
  });

  it.each([
    ['after its worker died', promises.died(accepted(), 'worker')],
    ['after a bounce', promises.bounced(promises.recorded(accepted(), RECORD, 'worker').memory, 'n1')],
    ['after one that came late', promises.accepted(NOTHING_YET, { ...SEND, late: true }).memory],
  ])('%s is excused', (_, memory) => expect(again(memory)).toEqual([]));

  function noted(): Memory {
    const row = { ...ROW, send_status: 'SUCCESS', record_due: '{}' };
    return promises.written(accepted(), ROW, row, { by: 'worker', now: NOW }).memory;
  }
});

describe('a row that is written', () => {
  const judge = (was: object, row: object, by = 'worker') =>
    promises.written(NOTHING_YET, { ...ROW, ...was }, { ...ROW, ...row }, { by, now: NOW }).violations;

  it.each([
    [{ claim_id: 'a', claim_until: at(1) }, {}, ['2: two unexpired claims']],
    [{ claim_id: 'a', claim_until: at(0) }, {}, []],
    [{ send_status: 'SUCCESS' }, { send_status: 'RETRY' }, ['5: SUCCESS became RETRY']],
    [{}, { send_attempts: 5 }, ['4: more attempts than its limit allows']],
    [{}, { send_attempts: 4 }, []],
    [{}, { redrive_count: 1 }, ['11: redrive_count without an operator']],
  ])('from %o to %o', (was, row, violations) => expect(judge(was, row)).toEqual(violations));

  it('may be withdrawn by an event, and redriven by an operator', () => {
    expect(judge({ send_status: 'SUCCESS' }, { send_status: 'RETRY' }, 'event of attempt 1')).toEqual([]);
    const memory = promises.redriven(NOTHING_YET, ['n1']);
    const row = { ...ROW, redrive_count: 1 };
    expect(promises.written(memory, ROW, row, { by: 'worker', now: NOW }).violations).toEqual([]);
  });
});

it.each([
  ['NETWORK_TIMEOUT', 299_999, ['7: the next attempt comes too soon']],
  ['NETWORK_TIMEOUT', 300_000, []],
  ['SERVER_OVERLOAD', 599_999, ['7: the next attempt comes too soon']],
])('a record of %s with a next attempt after %i ms', (error_type, ms, violations) => {
  const record = { ...RECORD, retry_status: 'FAILED', error_type, next_retry_at: at(ms) };
  expect(promises.recorded(NOTHING_YET, record, 'worker').violations).toEqual(violations);
});

describe('a provider’s allowance', () => {
  const granted = (use: string) => allowances.granted(NOTHING_YET, 'worker', { use }, { slots: [NOW] });
  const NONE = ['19: sent without a slot of those for info'];

  it.each<[string, Memory, string[]]>([
    ['with a slot', granted('info'), []],
    ['without one', NOTHING_YET, NONE],
    ['with one of another share', granted('express'), NONE],
    ['with one that was used', allowances.asked(granted('info'), SEND, ROW, 'account').memory, NONE],
    ['with one of a batch before', allowances.forfeited(granted('info'), 'worker'), NONE],
  ])('is asked for %s', (_, memory, violations) => {
    expect(allowances.asked(memory, SEND, ROW, 'account').violations).toEqual(violations);
  });

  it('or storage is asked for a dead one before it dies again', () => {
    const dead = { ...ROW, failure_reason: 'MAX_RETRIES' };
    const record = { ...RECORD, retry_status: 'FAILED', error_type: 'UNKNOWN', failure_reason: 'MAX_RETRIES' };
    const judge = (memory: Memory) => allowances.diedAgain(memory, dead, record, 'worker');
    expect(judge(NOTHING_YET)).toEqual(['19: a dead one that was forced dies again unsent']);
    expect(judge(allowances.asked(NOTHING_YET, SEND, dead, undefined).memory)).toEqual([]);
  });
});

it('an end for a wrong recipient is none for the one that its writer has named before', () => {
  const memory = corrected(NOTHING_YET, ROW);
  const row = { ...ROW, send_status: 'FAILED', failure_reason: 'INVALID_RECIPIENT' };
  expect(neverTried(memory, row)).toEqual(['15: given up for a recipient that was replaced before']);
  expect(neverTried({ ...memory, numbered: { n1: 2 } }, row)).toEqual([]);
  expect(neverTried(corrected(NOTHING_YET, row), row)).toEqual([]);
});

describe('the end', () => {
  const DONE = { log_id: 'n1', send_status: 'SUCCESS', last_attempt: 1, work_at: at(0) };
  const REFUSED = { records: [{ ...RECORD, retry_status: 'FAILED' }] };
  const judge = (row: object, more: Partial<ends.End> = {}) =>
    ends.ended(accepted(), { rows: [{ ...DONE, ...row }], records: [RECORD], letters: [], ...more });

  it.each([
    [{}, {}, []],
    [{ send_status: 'RETRY' }, REFUSED, ['1: lost: RETRY   at the end']],
    [{ send_status: 'FAILED', failure_reason: 'FORMAT_ERROR' }, {}, ['5: recorded as delivered, and FAILED']],
    [{ work_queue: 'due#info#0' }, {}, ['1: lost: SUCCESS  due#info#0 at the end']],
    [{ record_due: '{}' }, {}, ['6: it owes its record at the end']],
    [{ recipient_address: 'n1@example.com' }, {}, ['14: content is left in the clear']],
    [{ last_attempt: 2 }, {}, ['6: attempt 2 has no record']],
    [{ attempts_left: -1 }, {}, ['4: more attempts than its limit allows']],
    [
      { send_status: 'FAILED', failure_reason: 'AUTH_FAILED', work_queue: 'dead#info#0' },
      REFUSED,
      ['11: a dead row without a letter'],
    ],
    [
      { send_status: 'FAILED', failure_reason: 'AUTH_FAILED', work_queue: 'dead#info#0' },
      { ...REFUSED, letters: ['n1'] },
      [],
    ],
  ])('of %o with %o', (row, more, violations) => expect(judge(row, more)).toEqual(violations));

  it('has no delivery that nobody received', () => {
    const end = { rows: [DONE], records: [RECORD], letters: [] };
    expect(ends.ended(NOTHING_YET, end)).toEqual(['1: SUCCESS without an acceptance and its record']);
  });

  it('has an attempt for each dead row whose letters were redriven', () => {
    const dead = [{ log_id: 'n1', last_attempt: 1 }];
    const judge = (row: object) => ends.answeredRedrive(dead, [{ log_id: 'n1', ...row }]);
    expect(judge({ last_attempt: 1 })).toEqual(['11: a redrive of its letters sends it no more']);
    expect(judge({ last_attempt: 2 })).toEqual([]);
  });
});

it('a queue holds no address and no body', () => {
  expect(promises.queued('{"log_id":"n1"}')).toEqual([]);
  expect(promises.queued('{"to":"n1@example.com"}')).toEqual(['9: a queue holds an address or a body']);
});

describe('what an actor does', () => {
  const reads = { by: 'sweep-9', port: 'index.page', args: [], changed: false };
  const reserves = (count: number) => ({ ...reads, port: 'budget.reserve', args: [{ count }] });
  const queues = (...all: string[]) => {
    const messages = all.map((priority) => ({ message: { priority } }));
    return { ...reads, port: 'lanes.send', args: [messages], changed: true };
  };

  it.each([
    ['a dry run that reads', { ...reads, by: 'dry-9' }, []],
    ['a dry run that sends', { ...queues('info'), by: 'dry-9' }, ['10: a dry run wrote or sent']],
    ['a sweep, urgent first', queues('urgent', 'normal', 'normal', 'info'), []],
    ['a sweep, info first', queues('info', 'urgent'), ['8: queued before one that is more urgent']],
    ['a sweep that reads its index once more', { ...reads, pages: 29 }, []],
    ['a sweep that reads it again and again', { ...reads, pages: 30 }, ['13: a sweep walks the index in vain']],
    ['slots for what may be sent', reserves(1), []],
    ['slots for more', reserves(2), ['12: a slot was reserved for a message that may not use it']],
  ])('%s', (_, deed, violations) => expect(acted(deed, 1)).toEqual(violations));
});
