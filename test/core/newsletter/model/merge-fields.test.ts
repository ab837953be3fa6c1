import { describe, expect, it } from 'vitest';
import { mergeUses, mergeValues, missingFields } from '../../../../src/core/newsletter/model/merge-fields.ts';
import { recipient } from '../../../support/newsletter/job-rows.ts';

describe('merge fields', () => {
  it('are found once per use, with their fallback', () => {
    expect(mergeUses('{name} {name, "you"} {name}', '{unsubscribe_url}')).toEqual([
      { text: '{name}', field: 'name' },
      { text: '{name, "you"}', field: 'name', fallback: 'you' },
      { text: '{unsubscribe_url}', field: 'unsubscribe_url' },
    ]);
  });

  it.each(['{{name}}', '{ color: red }', '{a:1}', 'a {} b', '{Name}'])('leave other braces alone: %s', (text) => {
    expect(mergeUses(text)).toEqual([]);
  });

  it.each([
    ['Ada Lovelace', { name: 'Ada Lovelace', first_name: 'Ada' }],
    ['  ', {}],
    ['山田', { name: '山田', first_name: '山田' }],
  ])('take the values of a member: %s', (member_name, values) => {
    const { email: _, member_id: __, ...names } = mergeValues(recipient(1, { member_name }));
    expect(names).toEqual(values);
  });

  it('are missing only without a value and without a fallback', () => {
    const uses = mergeUses('{name} {first_name, "you"} {email} {unsubscribe_url}');
    expect(missingFields(uses, recipient(1))).toEqual(['name']);
    expect(missingFields(uses, recipient(1, { member_name: 'Ada' }))).toEqual([]);
  });
});
