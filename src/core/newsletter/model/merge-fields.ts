import type { Recipient } from './chunk.ts';

/** Fields of a member that a subject or a body may name in braces: `{name}`, or `{name, "there"}` with a fallback. */
export const MERGE_FIELDS = ['name', 'first_name', 'email', 'member_id', 'unsubscribe_url'] as const;
export type MergeField = (typeof MERGE_FIELDS)[number];

/** One use of a field in a text. */
export interface MergeUse {
  /** As it stands in the text. */
  readonly text: string;
  readonly field: string;
  /** What stands there for a member without a value. */
  readonly fallback?: string;
}

/** Doubled braces are not ours: they arrive as they were written. */
export const MERGE_USE = /(?<!\{)\{([a-z_]+)(?:,\s*"([^"{}]*)")?\}(?!\})/g;

/** The uses of merge fields in texts, each once, in the order of their first appearance. */
export function mergeUses(...texts: readonly string[]): readonly MergeUse[] {
  const uses = new Map<string, MergeUse>();
  for (const text of texts) {
    for (const [whole, field = '', fallback] of text.matchAll(MERGE_USE)) {
      uses.set(whole, { text: whole, field, ...(fallback !== undefined && { fallback }) });
    }
  }
  return [...uses.values()];
}

export function isMergeField(field: string): field is MergeField {
  return MERGE_FIELDS.some((known) => known === field);
}

/** Values of a member's merge fields; those that it lacks are absent. `unsubscribe_url` is added when it is sent. */
export function mergeValues(recipient: Recipient): Readonly<Partial<Record<MergeField, string>>> {
  const name = recipient.member_name?.trim();
  const first_name = name?.split(/\s+/)[0];
  return {
    email: recipient.member_email,
    member_id: recipient.member_id,
    ...(name && { name }),
    ...(first_name && { first_name }),
  };
}

/** Fields without fallback that the member has no value for. */
export function missingFields(uses: readonly MergeUse[], recipient: Recipient): readonly MergeField[] {
  if (uses.length === 0) return [];
  const values: Readonly<Record<string, string | undefined>> = { ...mergeValues(recipient), unsubscribe_url: '-' };
  const missing = uses.flatMap(({ field, fallback }) =>
    fallback === undefined && isMergeField(field) && values[field] === undefined ? [field] : [],
  );
  return [...new Set(missing)];
}
