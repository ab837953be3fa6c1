import { describe, expect, it } from 'vitest';
import { callerOf } from '../../../../functions/shared/console/console-function.ts';
import { asApiGateway, bearer } from '../../../support/console-token.ts';

const rules = { claim: 'groups', operators: ['operator'], viewers: ['viewer', 'staff'] };
const BASE = { iss: 'https://issuer.example', sub: 'u1' };
const callerBy = (claims: object, verified: object = claims, by = rules) =>
  callerOf(bearer(claims), asApiGateway({ ...verified }), by);

describe('the role of a token', () => {
  it.each([
    [['operator', 'viewer'], 'operator'],
    [['viewer', 'operator'], 'operator'],
    ['operator', 'operator'],
    [['staff'], 'viewer'],
  ])('%j makes a %s', (groups, role) => {
    const name = 'mori@example.com';
    expect(callerBy({ ...BASE, email: name, groups })).toEqual({ who: 'u1', name, role });
  });

  it.each([
    [undefined],
    [''],
    [[]],
    [['operators']],
    [['Switchboard operator']],
    ['Switchboard operator'],
    [['[operator]']],
    ['[operator]'],
    [['x,operator']],
    [[['operator']]],
    [7],
    [{ operator: true }],
  ])('%j lets nobody in', (groups) => expect(callerBy({ ...BASE, groups })).toBeUndefined());

  it('may be one of the scopes, which are a list in one text', () => {
    const by = { ...rules, claim: 'scope' };
    expect(callerBy({ ...BASE, scope: 'openid operator' }, undefined, by)?.role).toBe('operator');
  });

  it.each([
    ['of nobody', { iss: BASE.iss, groups: ['operator'] }],
    ['to show who signed in', { ...BASE, groups: ['operator'], nonce: 'n' }],
    ['of Cognito to show who signed in', { ...BASE, groups: ['operator'], token_use: 'id' }],
  ])('is none by a token %s', (_, claims) => expect(callerBy(claims)).toBeUndefined());

  it('is none by a token that API Gateway did not check', () => {
    const claims = { ...BASE, groups: ['operator'] };
    expect(callerBy(claims, { ...BASE, sub: 'u2' })).toBeUndefined();
    expect(callerBy(claims, {})).toBeUndefined();
    for (const header of [undefined, '', 'Bearer x', 'Bearer a.e30.c', 'Bearer a.!.c', 'Bearer a.bnVsbA.c'])
      expect(callerOf(header, asApiGateway(claims), rules)).toBeUndefined();
  });
});
