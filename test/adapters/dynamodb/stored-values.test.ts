import { marshall } from '@aws-sdk/util-dynamodb';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { toValue } from '../../../src/adapters/dynamodb/table/item.ts';

it('writes lists and maps of any depth as the library does', () => {
  const bytes = fc.uint8Array({ maxLength: 4 });
  const texts = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 3 }).map((all) => new Set(all));
  const one = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constantFrom(null, undefined), bytes, texts);
  const { tree } = fc.letrec<{ readonly tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      one,
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(fc.string(), tie('tree'), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  fc.assert(
    fc.property(fc.array(tree, { maxLength: 4 }), (value) => {
      expect(toValue(value)).toEqual(marshall({ value }, { removeUndefinedValues: true })['value']);
    }),
  );
});
