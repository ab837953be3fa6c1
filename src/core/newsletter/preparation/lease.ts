import { Lease, leaseLeftMs } from '../../model/changes.ts';
import { ExplainedError } from '../../model/problem.ts';
import type { Email } from '../model/email.ts';
import { StopRetrying, storageOf } from '../model/job-limits.ts';
import type { Change } from '../model/ports.ts';
import type { PrepareDeps } from './ports.ts';

/** Another invocation took the preparation over, or the email was changed under it. */
export class LeaseLostError extends ExplainedError {
  override readonly name = 'LeaseLostError';
}

/** The longest time that a write takes, once it has begun. */
const WRITE_MS = 20_000;

/**
 * The right to prepare an email, held by an expiring claim on its row. Nothing is written when the claim could end
 * before the write does: a preparation that was taken over must not overwrite batches that are sent already.
 */
export class PreparationLease {
  readonly #lease: Lease<Email, Change<Email>>;
  readonly #deps: PrepareDeps;
  /** A call of storage, repeated within `limits.storage_before_sending`. */
  readonly read: ReturnType<typeof storageOf>;

  constructor(email: Email, deps: PrepareDeps) {
    const { emails, clock, limits } = deps;
    this.#lease = new Lease(email, {
      read: () => emails.read(email.email_id),
      // The clock looks at the email when its claim ends.
      change: (was, { set, remove }) =>
        emails.change(was, {
          set: { ...(set.claim_until && { next_at: set.claim_until }), ...set },
          ...(remove && { remove }),
        }),
      clock,
      lease_ms: limits.lease_ms,
    });
    this.#deps = deps;
    this.read = storageOf(deps);
  }

  get email(): Email {
    return this.#lease.row;
  }

  /** Renews the claim in time, whether or not anything is written meanwhile. @throws LeaseLostError */
  keep(): Promise<void> {
    return this.read('keep the claim of a preparation', () => this.#keep());
  }

  /** A write under the claim, repeated likewise. @throws LeaseLostError */
  write<T>(what: string, run: () => Promise<T>): Promise<T> {
    return this.read(what, async () => {
      await this.#keep();
      if (leaseLeftMs(this.email, this.#deps.clock()) < WRITE_MS)
        throw new StopRetrying(new LeaseLostError('The claim of the preparation ends.'));
      return run();
    });
  }

  /** Changes the row and keeps the claim, or gives it up with `remove`. @throws LeaseLostError */
  async change(change: Change<Email>): Promise<Email> {
    return this.read('write the progress of a preparation', () => this.#change(change));
  }

  async #keep(): Promise<void> {
    const { clock, limits } = this.#deps;
    if (leaseLeftMs(this.email, clock()) < limits.lease_ms - limits.renew_ms) await this.#change({ set: {} });
  }

  async #change(change: Change<Email>): Promise<Email> {
    // The count pass or an operator changes the row, too: the claim is still ours then.
    const changed = await this.#lease.change(change);
    if (changed !== undefined) return changed;
    throw new StopRetrying(new LeaseLostError('Another invocation took the email over.'));
  }
}
