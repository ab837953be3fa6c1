/** English is the language of the sources, and of every sentence that another language does not have. */
export const LANGUAGES = ['en', 'ja'] as const;
export type Language = (typeof LANGUAGES)[number];

/**
 * A catalogue: the sentences of one language by their English ones, so that the sources read as people do. What is put
 * in stands in braces: `'{n} of {total}'`.
 */
export type Sentences = Readonly<Record<string, string>>;

/** What is to be put into a sentence: `'n' | 'total'` of `'{n} of {total}'`. */
export type Blanks<S extends string> = S extends `${string}{${infer Name}}${infer Rest}` ? Name | Blanks<Rest> : never;

const BLANK = /\{(\w+)\}/;

/** The parts of a sentence in their order: its texts, and between them what is put in. */
export function filled<T>(sentence: string, values: Readonly<Record<string, T>>): (string | T)[] {
  return sentence.split(BLANK).flatMap((part, i): (string | T)[] => {
    if (i % 2 === 0) return part === '' ? [] : [part];
    const value = values[part];
    return value === undefined ? [`{${part}}`] : [value];
  });
}

/**
 * Translates what another program composed in English, such as `Rotate the credential, then redrive.`: as a whole, or by
 * the first sentence of the catalogue that it fits with blanks, and so each of its parts. What has no translation stays.
 */
export function translator(sentences: Sentences): (english: string) => string {
  const own = new Map(Object.entries(sentences));
  const patterns = [...own].flatMap(([english, to]) =>
    BLANK.test(english)
      ? [{ names: english.split(BLANK).filter((_, i) => i % 2 === 1), fits: patternOf(english), to }]
      : [],
  );
  const find = (english: string): string | undefined => {
    const whole = own.get(english);
    if (whole !== undefined) return whole;
    for (const { names, fits, to } of patterns) {
      const found = fits.exec(english)?.slice(1);
      if (found === undefined) continue;
      return filled(to, Object.fromEntries(names.map((name, i) => [name, translate(found[i] ?? '')]))).join('');
    }
    return undefined;
  };
  // A sentence may go on after a colon, without its full stop.
  const translate = (english: string) => find(english) ?? find(`${english}.`)?.replace(/。$/, '') ?? english;
  return translate;
}

function patternOf(sentence: string): RegExp {
  const parts = sentence
    .split(BLANK)
    .map((part, i) => (i % 2 === 1 ? '(.+)' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')));
  return new RegExp(`^${parts.join('')}$`, 's');
}
