import { ExplainedError } from '../../model/problem.ts';
import { epochMs, isoAfter } from '../../model/time.ts';
import type { Email } from '../model/email.ts';
import { retryStorage, StopRetrying } from '../model/job-limits.ts';
import type { Change } from '../model/ports.ts';
import type { PrepareDeps } from './ports.ts';

/** Another invocation took the preparation over, or the email was changed under it. */
export class LeaseLostError extends ExplainedError {
  override readonly name = 'LeaseLostError';
}

/** The longest that a write takes that was begun. */
const WRITE_MS = 20_000;

/**
 * The right to prepare an email, held by an expiring claim on its row. Nothing is written when the claim could end
 * before the write does: a preparation that was taken over must not overwrite batches that are sent already.
 */
export class PreparationLease {
  email: Email;
  readonly #deps: PrepareDeps;

  constructor(email: Email, deps: PrepareDeps) {
    this.email = email;
    this.#deps = deps;
  }

  /** Renews the claim in time, whether or not anything is written meanwhile. @throws LeaseLostError */
  keep(): Promise<void> {
    return this.#retry('keep the claim of a preparation', () => this.#keep());
  }

  /** A write under the claim, repeated as the source says. @throws LeaseLostError */
  write<T>(what: string, run: () => Promise<T>): Promise<T> {
    return this.#retry(what, async () => {
      await this.#keep();
      if (this.#left() < WRITE_MS) throw new StopRetrying(new LeaseLostError('The claim of the preparation ends.'));
      return run();
    });
  }

  read<T>(what: string, run: () => Promise<T>): Promise<T> {
    return this.#retry(what, run);
  }

  /** Changes the row and keeps the claim, or gives it up with `remove`. @throws LeaseLostError */
  async change(change: Change<Email>): Promise<Email> {
    return this.#retry('write the progress of a preparation', () => this.#change(change));
  }

  async #keep(): Promise<void> {
    const { lease_ms, renew_ms } = this.#deps.limits;
    if (this.#left() < lease_ms - renew_ms) await this.#change({ set: {} });
  }

  async #change({ set, remove = [] }: Change<Email>): Promise<Email> {
    const { emails, clock, limits } = this.#deps;
    const claim_until = isoAfter(clock(), limits.lease_ms);
    const held = remove.includes('claim_until') ? {} : { claim_until, next_at: claim_until };
    for (;;) {
      const changed = await emails.change(this.email, { set: { ...held, ...set }, remove });
      const found = changed ?? (await emails.read(this.email.email_id));
      if (found === undefined || (changed === undefined && found.claim_id !== this.email.claim_id)) {
        throw new StopRetrying(new LeaseLostError('Another invocation took the email over.'));
      }
      this.email = found;
      if (changed !== undefined) return changed;
      // The count pass or an operator changed the row; the claim is still ours.
    }
  }

  #left(): number {
    return epochMs(this.email.claim_until ?? '1970-01-01T00:00:00.000Z') - this.#deps.clock().getTime();
  }

  #retry<T>(what: string, run: () => Promise<T>): Promise<T> {
    const { limits, remaining_ms } = this.#deps;
    return retryStorage(run, { what, tries: limits.storage_before_sending, left_ms: remaining_ms }, this.#deps);
  }
}
