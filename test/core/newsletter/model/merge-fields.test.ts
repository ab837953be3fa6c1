import { describe, expect, it } from 'vitest';
import {
  mergeFieldRefusal,
  mergeUses,
  mergeValues,
  missingFields,
} from '../../../../src/core/newsletter/model/merge-fields.ts';
import { recipient } from '../../../support/newsletter/job-rows.ts';

const usesIn = (body: string, subject = '') => mergeUses({ subject, body, format: 'text' });

describe('merge fields', () => {
  it('are found once per use, with their fallback', () => {
    expect(usesIn('{unsubscribe_url}', '{name} {name, "you"} {name}')).toEqual([
      { field: 'name' },
      { field: 'name', fallback: 'you' },
      { field: 'unsubscribe_url' },
    ]);
  });

  it.each(['{{name}}', '{ color: red }', '{a:1}', 'a {} b', '{Name}'])('leave other braces alone: %s', (text) => {
    expect(usesIn(text)).toEqual([]);
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
    const uses = usesIn('{name} {first_name, "you"} {email} {unsubscribe_url}');
    expect(missingFields(uses, recipient(1))).toEqual(['name']);
    expect(missingFields(uses, recipient(1, { member_name: 'Ada' }))).toEqual([]);
  });
});

describe('what looks like a merge field and is none', () => {
  const refusal = (body: string, subject = 'Hello') => mergeFieldRefusal({ subject, body, format: 'text' });

  it.each([
    ['{nmae}', 'The fields are {name}'],
    ['{Name}', '{Name} is no merge field: write {name}.'],
    ['{ name }', '{ name } is no merge field: write {name}.'],
    ['{firstName}', '{firstName} is no merge field: write {first_name}.'],
    ['{first name}', '{first name} is no merge field: write {first_name}.'],
    ['{MEMBER-ID}', '{MEMBER-ID} is no merge field: write {member_id}.'],
    [
      '{name, “there”}',
      '{name, …} is no merge field: write {name, "there"}, with its fallback in straight double quotes.',
    ],
    ["{name, 'you'}", '{name, …} is no merge field: write {name, "there"}'],
    ['{name, you}', 'write {name, "there"}'],
    ['{name|you}', '{name| …} is no merge field: write {name, "there"}'],
    ['{name, &quot;you&quot;}', 'write {name, "there"}'],
    ['{Name, "you"}', 'write {name, "there"}'],
  ])('is refused with what is right: %s', (text, sentence) => {
    expect(refusal(`Dear ${text}!`)?.message).toContain(sentence);
    expect(refusal('Text', text)?.errors).toMatchObject([{ path: 'subject', rule: 'merge-field' }]);
  });

  it.each([
    '{name} {name, "you"} {first_name, ""}',
    '{{name}} {{ Name }}',
    'a { color: red } b { name: 1 } {} {1} {\nname\n}',
    '{the name of it}',
  ])('leaves what is one, and other braces: %s', (text) => expect(refusal(text)).toBeUndefined());

  it('names each once, and quotes nothing of the text behind it', () => {
    const told = refusal('{Name} {Name} {nmae} {name, “Ann from Osaka”}', '{nmae}');
    expect(told?.errors.map(({ path }) => path)).toEqual(['subject', 'body', 'body', 'body']);
    expect(told?.message).toBe(
      '{nmae} is no merge field. The fields are {name}, {first_name}, {email}, {member_id}, {unsubscribe_url}; ' +
        '{{nmae}} shows {nmae}. {Name} is no merge field: write {name}. Doubled braces show what stands in them. ' +
        '{name, …} is no merge field: write {name, "there"}, with its fallback in straight double quotes. ' +
        'Doubled braces show what stands in them.',
    );
  });
});
