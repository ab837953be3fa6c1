import { describe, expect, it } from 'vitest';
import { type References, resolve } from '../../../../src/local/emulator/template/references.ts';
import type { Json } from '../../../../src/local/support/json.ts';

const references: References = {
  ref: (id) => ({ Table: 'log', 'AWS::Region': 'us-east-1', 'AWS::AccountId': '000000000000' })[id],
  getAtt: (id, attribute) => (id === 'Queue' ? `${id}-${attribute}` : undefined),
};

describe('resolving intrinsic functions', () => {
  it.each<[string, Json, Json]>([
    ['a reference', { Ref: 'Table' }, 'log'],
    ['an attribute', { 'Fn::GetAtt': ['Queue', 'Arn'] }, 'Queue-Arn'],
    ['joined parts', { 'Fn::Join': ['', ['a:', { Ref: 'AWS::Region' }, ':', { Ref: 'Table' }]] }, 'a:us-east-1:log'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: CloudFormation's own placeholders
    ['a text with placeholders', { 'Fn::Sub': 'x-${Table}-${Queue.Arn}-${!kept}' }, 'x-log-Queue-Arn-${kept}'],
    [
      'values nested in objects and lists',
      { a: [{ b: { Ref: 'Table' } }, 1, true, null] },
      { a: [{ b: 'log' }, 1, true, null] },
    ],
  ])('gives %s', (_, value, expected) => expect(resolve(value, references, 'here')).toEqual(expected));

  it('keeps an object that only looks like a function, because it has other keys', () => {
    expect(resolve({ Ref: 'Table', other: 1 }, references, 'here')).toEqual({ Ref: 'Table', other: 1 });
  });

  it.each<[string, Json, RegExp]>([
    ['a reference to nothing', { x: { Ref: 'Nothing' } }, /here\.x refers to Nothing/],
    ['an attribute of nothing', [{ 'Fn::GetAtt': ['Nothing', 'Arn'] }], /here\[0\] refers to Nothing\.Arn/],
    ['a function that it does not know', { 'Fn::ImportValue': 'x' }, /here uses Fn::ImportValue.*Fn::Sub/],
    ['a list that it does not select from', { 'Fn::Select': [3, ['a']] }, /here uses Fn::Select/],
  ])('names the place of %s', (_, value, message) => expect(() => resolve(value, references, 'here')).toThrow(message));
});
