const WORDS = (
  'the your has been to of and for in is on a this with please was not by at will be skill review report order ' +
  'payment account project approved rejected updated deadline meeting request system service error status details ' +
  'confirm before after until team member manager training certificate evaluation'
).split(' ');
const LETTERS = 'etaoinshrdlucmfwypvbgkxqjz0123456789';

/**
 * A body of exactly this size, the same on each call. Common words alternate with names and numbers, so that it
 * compresses like real notifications, to less than half; a repeated sentence would compress to almost nothing.
 */
export function bodyOf(bytes: number): string {
  const random = generator(bytes);
  const pick = (from: ArrayLike<string>) => from[Math.floor(random() * from.length)] ?? '';
  const name = () => Array.from({ length: 3 + Math.floor(random() * 7) }, () => pick(LETTERS)).join('');
  const parts: string[] = [];
  for (let length = 0; length < bytes; ) {
    const word = random() < 0.65 ? pick(WORDS) : name();
    parts.push(word);
    length += word.length + 1;
  }
  return parts.join(' ').padEnd(bytes, '.').slice(0, bytes);
}

/**
 * A linear congruential generator with the constants of Numerical Recipes: numbers in [0, 1), equal for equal seeds.
 */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
