import fc from 'fast-check';

/** A text of a corpus of which parts are left out, or replaced by a piece of markup. */
export const mutated = (texts: readonly string[], pieces: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom(...texts),
      fc.array(fc.tuple(fc.nat(), fc.nat(2), fc.constantFrom(...pieces)), { minLength: 1, maxLength: 3 }),
    )
    .map(([text, changes]) =>
      changes.reduce((was, [place, length, piece]) => {
        const at = place % (was.length + 1);
        return was.slice(0, at) + piece + was.slice(at + length);
      }, text),
    );
