import { MERGE_USE, mergeUses } from '../../core/newsletter/model/merge-fields.ts';

export interface HeldFields {
  /** The text with a plain word in the place of each merge field. */
  readonly text: string;
  /** Puts the merge fields back, as they were written. */
  readonly release: (converted: string) => string;
}

/** Converters escape quotes in texts and braces in links, which a merge field would not survive; a word does. */
export function holdMergeFields(text: string): HeldFields {
  const uses = mergeUses(text);
  if (uses.length === 0) return { text, release: (converted) => converted };
  let word = 'mergefield';
  while (text.includes(word)) word += 'x';
  const held = (index: number) => `${word}${index}z`;
  const indexes = new Map(uses.map((use, index) => [use.text, index]));
  const released = new RegExp(`${word}(\\d+)z`, 'g');
  return {
    text: text.replaceAll(MERGE_USE, (use) => held(indexes.get(use) ?? 0)),
    release: (converted) => converted.replaceAll(released, (_, index: string) => uses[Number(index)]?.text ?? ''),
  };
}
