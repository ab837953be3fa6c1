export type Comparison = '=' | '<>' | '<' | '<=' | '>' | '>=' | 'begins_with';

/**
 * The condition of a write, as data: DynamoDB's stores render it, their twins evaluate it. All of it has to hold. A column
 * that equals `undefined` is absent or NULL, as for a writer that sets every column it knows. A dot leads into a map.
 */
export type Guard = readonly (readonly [column: string, is: Comparison | `absent or ${Comparison}`, value: unknown])[];

/** The columns are as they were read. Reading a row that was never attempted supplies −1 for its `last_attempt`. */
export function asRead<C extends string>(row: Readonly<Partial<Record<C, unknown>>>, columns: readonly C[]): Guard {
  return columns.map((column) => [
    column,
    column === 'last_attempt' && row[column] === -1 ? 'absent or =' : '=',
    row[column],
  ]);
}

/** There is no item of this `log_id` yet. */
export const NEW: Guard = [['log_id', '=', undefined]];

/** The item is new, or of the version before: one of several writers at once wins. */
export function nextVersion(key: string, version: number): readonly Guard[] {
  return [[[key, '=', undefined]], [['version', '=', version - 1]]];
}

/** The item has the version that it was read with; 0: there was none. */
export function ofVersion({ version }: { readonly version: number }): Guard {
  return [['version', '=', version === 0 ? undefined : version]];
}

/** The item is as somebody looked at it; null: there was none. */
export const ofTime = (updated_at: string | null): Guard => [['updated_at', '=', updated_at ?? undefined]];

/** There is an item, which has this column. */
export const isThere = (column: string): Guard => [[column, '<>', undefined]];
