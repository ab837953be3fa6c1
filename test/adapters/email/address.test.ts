import { createRequire } from 'node:module';
import { domainToASCII } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromHeader, mailbox, senderMailbox } from '../../../src/adapters/email/address.ts';
import { ADDRESSES, SENDERS } from '../../corpus/addresses/cases.ts';
import { anyCharacter } from '../../support/any-character.ts';
import { mutated } from '../../support/mutated.ts';

interface Parsed {
  readonly from?: { readonly value: readonly { readonly name: string; readonly address: string }[] };
}
/** Of others, without types: what a mail program reads in the header. */
const { simpleParser }: { readonly simpleParser: (mail: string) => Promise<Parsed> } = createRequire(import.meta.url)(
  'mailparser',
);
const readFrom = async (header = '') => (await simpleParser(`From: ${header}\r\nSubject: x\r\n\r\nx\r\n`)).from?.value;

describe('the sender in a header', () => {
  it.each(SENDERS)('is read by another library as it was meant: $written', async ({ written, name, address }) => {
    const header = fromHeader(written);
    expect(header).toMatch(/^[\x20-\x7e]+$/);
    // The library shows the domain as people read it; the header has it in ASCII.
    const read = (await readFrom(header))?.map((one) => ({ name: one.name, address: mailbox(one.address) }));
    expect(read).toEqual([{ name, address }]);
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
        const [from] = (await readFrom(header)) ?? [];
        expect(from?.name.replaceAll(/\s+/g, ' ')).toBe(written.replaceAll(/\s+/g, ' '));
      }),
      { numRuns: 60 },
    );
  });

  it.each(['nobody', 'a@b', 'Weekly <news@example.com> x', 'a@example.com, b@example.com'])('is none: %s', (text) => {
    expect(fromHeader(text)).toBeUndefined();
  });
});

describe('the mailbox of a recipient', () => {
  it.each(ADDRESSES)('$text: $why', ({ text, mailbox: meant }) => expect(mailbox(text)).toBe(meant));

  it('is one that stays itself, in ASCII and without blanks, whatever becomes of the corpus', async () => {
    const written = [...ADDRESSES.map(({ text }) => text), ...SENDERS.map((sender) => sender.written)];
    const pieces = ['', '@', '.', ' ', '"', '<', '>', ',', '\\', '\r\n', '(', 'é', '。', '\u200b', '0x7f'];
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(mutated(written, pieces), async (text) => {
        const found = mailbox(text);
        if (found !== undefined) expect(found).toMatch(/^[^\s@]{1,64}@(?=[^@]*[a-z][^.]*$)[a-z0-9.-]+$/i);
        if (found !== undefined) expect(mailbox(found)).toBe(found);
        const header = fromHeader(text);
        if (header === undefined) return;
        taken += 1;
        expect(header).toMatch(/^[\x20-\x7e]+$/);
        // Neither a second mailbox, nor another one than that of the brackets.
        const read = await readFrom(header);
        expect(read?.map(({ address }) => mailbox(address))).toEqual([senderMailbox(text)]);
      }),
      { numRuns: 300 },
    );
    expect(taken).toBeGreaterThan(30);
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
