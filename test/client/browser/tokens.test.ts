import { describe, expect, it } from 'vitest';
import { createTokens, type TokenRequest } from '../../../src/client/browser/api/tokens.ts';

function tokens(
  answer: (request: TokenRequest, n: number) => Promise<string> = async (_, n) => `t${n}`,
  timeoutMs = 1_000,
) {
  const requests: TokenRequest[] = [];
  const made = createTokens((request) => answer(request, requests.push(request)), timeoutMs);
  return { ...made, requests };
}

describe('the tokens of a page', () => {
  it('are asked for once, until the API does not take one any more', async () => {
    const { get, renew, requests } = tokens();
    expect([await get('send'), await get('send')]).toEqual(['t1', 't1']);
    expect(await Promise.all([renew('send', 't1'), renew('send', 't1')])).toEqual(['t2', 't2']);
    // A late answer about the old token does not drop the new one.
    expect(await renew('send', 't1')).toBe('t2');
    expect(await get('send')).toBe('t2');
    expect(requests).toEqual([{ send: true }, { send: true }]);
  });

  it('of a list are asked for together, and by as few requests as the API allows', async () => {
    const { get, requests } = tokens();
    const ids = Array.from({ length: 60 }, (_, i) => `NL${i}`);
    const given = await Promise.all([...ids, 'NL0'].map((log_id) => get({ log_id })));
    expect(new Set(given)).toEqual(new Set(['t1', 't2']));
    expect(requests.map((request) => ('log_ids' in request ? request.log_ids.length : 0))).toEqual([50, 10]);
    expect(await get({ log_id: 'NL59' })).toBe('t2');
    expect(requests).toHaveLength(2);
  });

  it('that the server did not give are asked for again', async () => {
    const { get } = tokens(async (_, n) => (n === 1 ? Promise.reject(new Error('signed out')) : `t${n}`));
    await expect(get({ log_id: 'NL1' })).rejects.toThrow('signed out');
    expect(await get({ log_id: 'NL1' })).toBe('t2');
  });

  it('are not waited for without end: the queue of all tabs would stand still', async () => {
    const { get } = tokens(() => new Promise(() => {}), 5);
    await expect(get('send')).rejects.toThrow('did not answer within 5 ms');
  });
});
