import { describe, expect, it } from 'vitest';
import { fromHeader, mailbox } from '../../src/adapters/email/address.ts';
import { parseTime } from '../../src/core/model/time.ts';
import { ADDRESSES, SENDERS } from '../corpus/addresses/cases.ts';
import { TIMES } from '../corpus/times/cases.ts';
import { askPython, PYTHON } from '../support/tools/second-opinion.ts';
import { hasTool } from '../support/tools/tools.ts';

describe.skipIf(!hasTool('Python', PYTHON))('Python’s libraries read', { timeout: 60_000 }, () => {
  it('in a From header the sender that was meant, and find no fault with it', () => {
    const headers = SENDERS.map(({ written }) => fromHeader(written) ?? '');
    const meant = SENDERS.map(({ name, address }) => ({ read: [[name, address]], defects: [] }));
    expect(askPython('senders', headers)).toEqual(meant);
  });

  it('an address where a mail goes to one', () => {
    const taken = ADDRESSES.flatMap(({ text }) => mailbox(text) ?? []);
    expect(taken.length).toBeGreaterThan(10);
    expect(askPython('addresses', taken)).toEqual(taken);
  });

  it('the same moment', () => {
    const ours = TIMES.map(({ text, zone }) => parseTime(text, zone)?.toISOString() ?? null);
    expect(askPython('moments', TIMES)).toEqual(ours);
  });
});
