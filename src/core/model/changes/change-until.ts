/**
 * What became of a change. `row`: as it was when the last decision was made. `plan`: the last decision; absent where there
 * is no row, or nothing to change. `changed`: what the write returned; absent beside a plan where others were faster in all
 * tries.
 */
type Outcome<Row, Plan, Written> =
  | { readonly row: Row; readonly plan?: undefined; readonly changed?: undefined }
  | { readonly row: NonNullable<Row>; readonly plan: Plan; readonly changed?: undefined }
  | { readonly row: NonNullable<Row>; readonly plan: Plan; readonly changed: Written };

/**
 * Changes what others change, too: reads it, decides, and writes on the condition that it is as it was read. Where
 * somebody was faster it is read again, and the decision made anew. A call that fails is not repeated: nobody knows
 * whether it was applied, which the store has to recognise.
 * @param plan decides by the row as it is now; undefined: nothing is to be changed
 * @param change returns undefined or false where the row is not the one that was read
 * @param options `from`: the row, where it is read already; `tries`: writes at most, 1 or more
 */
export async function changeUntil<Row, Plan, Written>(
  read: () => Promise<Row>,
  plan: (row: NonNullable<Row>) => Plan | undefined | Promise<Plan | undefined>,
  change: (row: NonNullable<Row>, plan: Plan) => Promise<Written | undefined | false>,
  { from, tries = Number.POSITIVE_INFINITY }: { readonly from?: Row; readonly tries?: number } = {},
): Promise<Outcome<Row, Plan, Written>> {
  let row = from ?? (await read());
  for (let made = 1; ; made++) {
    if (row === undefined || row === null) return { row };
    const decided = await plan(row);
    if (decided === undefined) return { row };
    const changed = await change(row, decided);
    if (changed !== undefined && changed !== false) return { row, plan: decided, changed };
    if (made >= tries) return { row, plan: decided };
    row = await read();
  }
}
