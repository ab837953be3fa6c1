import { type NotificationRow, TOLD_COLUMNS } from './notification.ts';

export interface RowChange {
  readonly set: Partial<NotificationRow>;
  readonly remove?: readonly (keyof NotificationRow)[];
}

export function withChange(row: NotificationRow, change: RowChange): NotificationRow {
  const next: Record<string, unknown> = { ...row, ...change.set };
  for (const name of change.remove ?? []) delete next[name];
  return next as unknown as NotificationRow;
}

/**
 * Whether the row is as the change leaves it. A storage client repeats a write whose answer was lost: if that write was
 * applied, its condition fails then, and the row shows the change.
 */
export function shows(row: object, { set, remove = [] }: Changed): boolean {
  const found: Readonly<Record<PropertyKey, unknown>> = { ...row };
  return (
    Object.entries(set).every(([name, value]) => value === undefined || isSameValue(found[name], value)) &&
    remove.every((name) => found[name] === undefined)
  );
}

interface Changed {
  readonly set: object;
  readonly remove?: readonly PropertyKey[];
}

/** The same of an item with versions, by the version that was read. Storage itself sets `updated_at` with each change. */
export function isOwnWrite(
  stored: { readonly version: number },
  was: { readonly version: number },
  { set, remove = [] }: Changed,
): boolean {
  return stored.version === was.version + 1 && shows(stored, { set: { ...set, updated_at: undefined }, remove });
}

/** Whether a change that was refused was applied before: a claim is known by its token, any other change by its result. */
export function wasApplied(row: NotificationRow, change: RowChange): boolean {
  const { send_status, claim_id } = change.set;
  return claim_id === undefined ? shows(row, change) : row.claim_id === claim_id && row.send_status === send_status;
}

/**
 * Whether a settlement that was refused was applied before. An event may have changed `updated_at` since; an erasure has
 * taken out what the provider said, and a dead row must not lose its letter for that.
 */
export function wasSettled(row: NotificationRow, claimed: NotificationRow, change: RowChange): boolean {
  const { updated_at: _, ...settled } = change.set;
  const erased: readonly string[] = row.erased_at === undefined ? [] : TOLD_COLUMNS;
  const set = Object.fromEntries(Object.entries(settled).filter(([name]) => !erased.includes(name)));
  return row.last_attempt === claimed.last_attempt && shows(row, { ...change, set });
}

/** Whether two stored values (text, number, boolean, list, map) are the same. */
function isSameValue(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  const [left, right] = [Object.entries(a), new Map(Object.entries(b))];
  return (
    left.length === right.size && left.every(([name, value]) => right.has(name) && isSameValue(value, right.get(name)))
  );
}
