import { describe, expect, it } from 'vitest';
import { type Caller, checkRights, fromContext, toContext } from '../../../../functions/shared/api/caller.ts';

const KEY: Caller = { tenant_id: 'T1', key_id: 'k', scopes: ['send', 'read', 'operate'], rate_limit: 5 };
const token = (rights: NonNullable<Caller['token']>['rights']): Caller => ({
  ...KEY,
  scopes: 'send' in rights ? ['send'] : ['read', 'operate'],
  token: { token_id: 't', expires_at: '2026-11-22T10:00:00.000Z', rights },
});
const now = new Date('2026-11-22T09:59:59.999Z');

describe('the context of the authorizer', () => {
  it.each([
    KEY,
    token({ send: true }),
    token({ send: true, channel: 'slack', recipient: { hash: 'h', key: 'k' }, integration_config_id: 'I' }),
    token({ log_ids: ['NL1', 'a b'] }),
  ])('reaches the functions: %o', (caller) => {
    expect(fromContext(toContext(caller))).toEqual(caller);
  });

  it.each([
    '',
    '{',
    '{}',
    '{"token_id":"t","expires_at":"2026-11-22T10:00:00.000Z","rights":{}}',
    // Of the version before, whose hash had no key: no function takes it for a token to any recipient.
    '{"token_id":"t","expires_at":"2026-11-22T10:00:00.000Z","rights":{"send":true,"recipient":"hash"}}',
  ])('is nobody if it has a token that is malformed: %j', (text) =>
    expect(fromContext({ ...toContext(KEY), token: text })).toBeUndefined(),
  );

  it('has no scopes beside a token, so that nothing that does not know tokens takes one for its key', () => {
    expect(toContext(token({ send: true })).scopes).toBe('');
  });
});

describe('a token', () => {
  // API Gateway keeps the authorizer's answer for a minute, so a function may see a token that has expired since.
  it('ends at its time, also while the answer of the authorizer is cached', () => {
    const route = { scope: 'send', tokens: 'send' } as const;
    expect(() => checkRights(token({ send: true }), route, { log_id: undefined, now })).not.toThrow();
    const later = { log_id: undefined, now: new Date('2026-11-22T10:00:00.000Z') };
    expect(() => checkRights(token({ send: true }), route, later)).toThrow('The token has expired');
  });

  it.each([
    ['a route that takes none', { scope: 'read' }, 'NL1'],
    ['a route for tokens of another kind', { scope: 'send', tokens: 'send' }, 'NL1'],
    ['another log_id', { scope: 'read', tokens: 'log_id' }, 'NL2'],
    ['no log_id', { scope: 'read', tokens: 'log_id' }, undefined],
    ['a route for any key', { scope: 'any' }, undefined],
  ] as const)('for one log_id is refused at %s', (_, route, log_id) => {
    expect(() => checkRights(token({ log_ids: ['NL1'] }), route, { log_id, now })).toThrow('This token may not');
  });
});
