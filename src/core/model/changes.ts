import { type Clock, epochMs, isoAfter } from './time.ts';

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

/** What a row has that somebody works on: a token of who does, and until when they do without a sign of life. */
interface Leased {
  readonly claim_id?: string;
  readonly claim_until?: string;
}

/** Whoever gives a lease back removes these. */
export const LEASE = ['claim_id', 'claim_until'] as const;

/** Milliseconds until the lease ends; none is left where nobody works on the row. */
export const leaseLeftMs = ({ claim_until }: Pick<Leased, 'claim_until'>, now: Date): number =>
  claim_until === undefined ? 0 : epochMs(claim_until) - now.getTime();

/** Whether somebody works on the row, as far as is known. */
export const isLeased = (row: Pick<Leased, 'claim_until'>, now: Date): boolean => leaseLeftMs(row, now) > 0;

interface AnyChange {
  readonly set: Partial<Leased>;
  readonly remove?: readonly PropertyKey[];
}

export interface LeasePort<Row, Change> {
  readonly read: () => Promise<Row | undefined>;
  /** Undefined where somebody else changed the row since it was read. */
  readonly change: (row: Row, change: Change) => Promise<Row | undefined>;
  readonly clock: Clock;
  /** A holder that gives no sign of life within this time, in milliseconds, has crashed. */
  readonly lease_ms: number;
}

/**
 * The exclusive right to work on a row, which ends by itself when its holder dies. Each change of the holder is a sign of
 * life, unless it gives the lease back. Others may change the row meanwhile. A holder whose lease was taken over, or
 * removed, notices with its next change, and writes nothing.
 */
export class Lease<Row extends Leased, Change extends AnyChange> {
  /** As it was read last. */
  row: Row;
  lost = false;
  readonly #port: LeasePort<Row, Change>;

  constructor(row: Row, port: LeasePort<Row, Change>) {
    this.row = row;
    this.#port = port;
  }

  /**
   * Takes a row that nobody holds, if it is as it was read. A claim whose answer was lost is recognised by its `claim_id`,
   * which no other claim has. @returns undefined: somebody else changed the row
   */
  static async take<Row extends Leased, Change extends AnyChange>(
    found: Row,
    claim: NoInfer<Change>,
    port: LeasePort<Row, Change>,
  ): Promise<Lease<Row, Change> | undefined> {
    const lease = new Lease(found, port);
    await lease.tryChange(claim);
    lease.lost = lease.row.claim_id !== claim.set.claim_id;
    return lease.lost ? undefined : lease;
  }

  /** False: it is lost, or somebody else changed the row, which is read again then. */
  async tryChange(change: Change): Promise<boolean> {
    if (this.lost) return false;
    const { read, change: write, clock, lease_ms } = this.#port;
    const renewed = !change.remove?.includes('claim_until') && { claim_until: isoAfter(clock(), lease_ms) };
    const changed = await write(this.row, { ...change, set: { ...renewed, ...change.set } });
    const found = changed ?? (await read());
    this.lost = found === undefined || (changed === undefined && found.claim_id !== this.row.claim_id);
    this.row = found ?? this.row;
    return changed !== undefined;
  }

  /** Whatever others change at the same time. @returns the row as changed; undefined: the lease is lost */
  async change(plan: Change | ((row: Row) => Change | Promise<Change>)): Promise<Row | undefined> {
    while (!(await this.tryChange(typeof plan === 'function' ? await plan(this.row) : plan)))
      if (this.lost) return undefined;
    return this.row;
  }
}
