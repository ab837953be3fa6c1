import { describe, expect, it } from 'vitest';
import { callerOf } from '../../../functions/console-api/role-of.ts';

const rules = { claim: 'groups', operators: ['operator'], viewers: ['viewer', 'staff'] };

describe('the role of a token', () => {
  it.each([
    ['[operator viewer]', 'operator'],
    ['[viewer operator]', 'operator'],
    ['operator', 'operator'],
    ['[staff]', 'viewer'],
    [['viewer'], 'viewer'],
  ])('%j makes a %s', (groups, role) => {
    expect(callerOf({ sub: 'u1', email: 'mori@example.com', groups }, rules)).toEqual({
      who: 'mori@example.com',
      role,
    });
  });

  it.each([[undefined], [''], ['[]'], ['[operators]'], ['[my-operator]'], [7], [{ operator: true }]])(
    '%j lets nobody in',
    (groups) => {
      expect(callerOf({ sub: 'u1', groups }, rules)).toBeUndefined();
    },
  );

  it('needs a name for the audit', () => {
    expect(callerOf({ groups: 'operator' }, rules)).toBeUndefined();
    expect(callerOf({ groups: 'operator', sub: 'u1' }, rules)?.who).toBe('u1');
  });
});
