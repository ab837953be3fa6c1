import { isSameValue } from '../../model/row-change.ts';
import type { Change } from './ports.ts';

/** Columns that storage itself sets with each change. */
const SET_BY_STORAGE = new Set(['updated_at']);

/**
 * Whether a stored item is what the change makes of the version that was read: the write was applied, its answer got
 * lost, and it was repeated.
 */
export function isOwnWrite<T extends { readonly version: number }>(
  stored: T,
  was: { readonly version: number },
  { set, remove = [] }: Change<T>,
): boolean {
  const found: Readonly<Record<string, unknown>> = { ...stored };
  return (
    stored.version === was.version + 1 &&
    Object.entries(set).every(
      ([name, value]) => value === undefined || SET_BY_STORAGE.has(name) || isSameValue(found[name], value),
    ) &&
    remove.every((name) => found[String(name)] === undefined)
  );
}
