import { createRequire } from 'node:module';
import { domainToASCII } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromHeader, mailbox } from '../../../src/adapters/email/address.ts';
import { anyCharacter } from '../../support/any-character.ts';

interface Parsed {
  readonly from?: { readonly value: readonly { readonly name: string; readonly address: string }[] };
}
/** Of others, without types: what a mail program reads in the header. */
const { simpleParser }: { readonly simpleParser: (mail: string) => Promise<Parsed> } = createRequire(import.meta.url)(
  'mailparser',
);
const read = async (header = '') => (await simpleParser(`From: ${header}\r\nSubject: x\r\n\r\nx\r\n`)).from?.value;

describe('the sender in a header', () => {
  it.each([
    ['news@example.com', '', 'news@example.com'],
    ['Weekly News <news@example.com>', 'Weekly News', 'news@example.com'],
    ['週刊ニュース <news@example.com>', '週刊ニュース', 'news@example.com'],
    ['"週刊ニュース, 号外" <news@example.com>', '週刊ニュース, 号外', 'news@example.com'],
    ['Doe, Jane <jane@example.com>', 'Doe, Jane', 'jane@example.com'],
    ['"Doe, Jane" <jane@example.com>', 'Doe, Jane', 'jane@example.com'],
    ['Example.com (Newsletter) <news@example.com>', 'Example.com (Newsletter)', 'news@example.com'],
    ['O\\Neil: @home; [x] <news@example.com>', 'O\\Neil: @home; [x]', 'news@example.com'],
    ['Müller "Max" <m@example.com>', 'Müller "Max"', 'm@example.com'],
    ['Max "The Ax" Miller <m@example.com>', 'Max "The Ax" Miller', 'm@example.com'],
    ['"Max \\"The Ax\\" <Miller>" <m@example.com>', 'Max "The Ax" <Miller>', 'm@example.com'],
    ['"Max" "Miller" <m@example.com>', '"Max" "Miller"', 'm@example.com'],
    // The library shows the domain as people read it; the header has it in ASCII.
    ['Grüße 🎉 <a@münchen.example>', 'Grüße 🎉', 'a@münchen.example'],
    ['=?UTF-8?B?6YCx5YiK?= <news@example.com>', '週刊', 'news@example.com'],
  ])('is read by another library as it was meant: %s', async (written, name, address) => {
    const header = fromHeader(written);
    expect(header).toMatch(/^[\x20-\x7e]+$/);
    expect(await read(header)).toEqual([{ name, address }]);
  });

  it('keeps any name, in words of at most 75 characters', async () => {
    // Not by `stringMatching`, which makes each character of the class \p{C} beforehand: six seconds of CPU.
    const grapheme = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 });
    const unit = fc.oneof(grapheme, anyCharacter).filter((text) => /^[^<>"\\\p{C}]+$/u.test(text));
    const name = fc
      .string({ unit, minLength: 2, maxLength: 122 })
      .filter((text) => /^\S.*\S$/su.test(text) && !text.includes('=?'));
    await fc.assert(
      fc.asyncProperty(name, async (written) => {
        const header = fromHeader(`${written} <a@example.com>`) ?? '';
        expect(header).toMatch(/^[\x20-\x7e]+$/);
        for (const word of header.match(/=\?UTF-8\S+/g) ?? []) expect(word.length).toBeLessThanOrEqual(75);
        const [from] = (await read(header)) ?? [];
        expect(from?.name.replaceAll(/\s+/g, ' ')).toBe(written.replaceAll(/\s+/g, ' '));
      }),
      { numRuns: 60 },
    );
  });

  it.each(['nobody', 'a@b', 'Weekly <news@example.com> x', 'a@example.com, b@example.com'])('is none: %s', (text) => {
    expect(fromHeader(text)).toBeUndefined();
  });
});

it('gives each domain as Node writes it in ASCII', () => {
  const unit = fc.constantFrom('a', 'b', 'X', '1', '0x', '-', '.', '.com', 'xn--', 'é', 'ü');
  let taken = 0;
  fc.assert(
    fc.property(fc.string({ unit, minLength: 1, maxLength: 8 }), (domain) => {
      const found = mailbox(`a@${domain}`);
      if (found === undefined) return;
      taken += 1;
      expect(found).toBe(`a@${domainToASCII(domain)}`);
    }),
    { numRuns: 2_000 },
  );
  expect(taken).toBeGreaterThan(100);
});
