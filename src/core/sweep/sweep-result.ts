import { CHANNELS, type Channel } from '../model/channels.ts';
import { PRIORITIES, type Priority } from '../model/priorities.ts';

/** The job's answer (a contract: fields are added, never renamed). */
export interface SweepResult {
  readonly run_id: string;
  readonly dry_run: boolean;
  /** Notifications that matched and are due now. */
  readonly due: number;
  readonly dispatched: number;
  /** Due, but not dispatched: beyond the limit, still queued from an earlier sweep, or refused by the queue. */
  readonly skipped: number;
  readonly by_channel: Record<Channel, number>;
  readonly by_priority: Record<Priority, number>;
  /** Queued with a delay, as they become due within 15 minutes; not part of `due`. */
  readonly ahead: number;
}

/** Counts what a sweep finds and sends. */
export class Tally {
  readonly #run_id: string;
  readonly #dry_run: boolean;
  readonly #by_channel = zeros(CHANNELS);
  readonly #by_priority = zeros(PRIORITIES);
  #due = 0;
  #dispatchedDue = 0;
  #skipped = 0;
  #ahead = 0;
  /** Messages that the lanes did not take. */
  refused = 0;

  constructor(run_id: string, dry_run: boolean) {
    this.#run_id = run_id;
    this.#dry_run = dry_run;
  }

  sawDue(item: { readonly channel: Channel; readonly priority: Priority }): void {
    this.#due += 1;
    this.#by_channel[item.channel] += 1;
    this.#by_priority[item.priority] += 1;
  }

  skippedDue(count: number): void {
    this.#skipped += count;
  }

  sent(messages: readonly { readonly delay_seconds: number }[]): void {
    const due = messages.filter(({ delay_seconds }) => delay_seconds === 0).length;
    this.#dispatchedDue += due;
    this.#ahead += messages.length - due;
  }

  result(): SweepResult {
    return {
      run_id: this.#run_id,
      dry_run: this.#dry_run,
      due: this.#due,
      dispatched: this.#dispatchedDue,
      skipped: this.#skipped,
      by_channel: this.#by_channel,
      by_priority: this.#by_priority,
      ahead: this.#ahead,
    };
  }
}

function zeros<K extends string>(keys: readonly K[]): Record<K, number> {
  return Object.fromEntries(keys.map((key) => [key, 0])) as Record<K, number>;
}
