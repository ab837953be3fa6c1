import { type Clock, epochMs, isoAfter } from '../time.ts';

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
