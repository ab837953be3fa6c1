import type { VirtualTime } from '../../../../simulation/engine/virtual-time.ts';
import type {
  BulkAnswer,
  BulkCall,
  BulkEntry,
  EntryAnswer,
  Refusal,
} from '../../../../src/core/newsletter/model/provider.ts';

/** What the provider does with the calls of a time. */
export const MOODS = [
  'accepts',
  'transient',
  'overloaded',
  'throttled',
  'quota',
  'settings',
  'unknown_accepted',
  'unknown_refused',
  'slow',
  'some_transient',
  'all_transient',
  'silent',
  'quota_in_the_middle',
] as const;
export type Mood = (typeof MOODS)[number];

/** A mail that a receiver got. */
export interface Receipt {
  readonly to: string;
  readonly at: number;
  readonly tags: BulkEntry['tags'];
}

/** The provider, and the mailboxes behind it: all that receivers ever see. */
export class Provider {
  readonly receipts: Receipt[] = [];
  /** By seconds since the beginning; the last one that has begun holds. */
  moods: readonly { readonly from_s: number; readonly mood: Mood }[] = [];
  /** Calls whose sender got no answer. */
  unanswered = 0;
  calls = 0;
  /** The batch whose next call is not answered. */
  #hanging = '';
  onAccepted: (receipt: Receipt) => void = () => {};
  readonly #time: VirtualTime;
  readonly #begun: number;
  readonly #random: () => number;

  constructor(time: VirtualTime, random: () => number) {
    this.#time = time;
    this.#random = random;
    this.#begun = time.clock().getTime();
  }

  /** The next call for a batch is not answered, and not accepted. */
  hangNext(batch_id: string): void {
    this.#hanging = batch_id;
  }

  async send({ entries, timeout_ms }: BulkCall): Promise<BulkAnswer> {
    this.calls += 1;
    if (this.#hanging !== '' && entries[0]?.tags.chunk.startsWith(`${this.#hanging}-`)) {
      this.#hanging = '';
      await this.#time.pause(timeout_ms);
      return this.#unknown();
    }
    await this.#time.pause(20 + Math.floor(this.#random() ** 4 * 5_000));
    // An address that no provider takes fails the call for all.
    if (entries.some(({ to }) => to.startsWith('content'))) return refused('content');
    switch (this.#mood()) {
      case 'transient':
      case 'overloaded':
      case 'throttled':
      case 'quota':
      case 'settings':
        return refused(this.#mood() as Refusal['class']);
      case 'unknown_accepted':
        for (const entry of entries) this.#accept(entry);
        return this.#unknown();
      case 'unknown_refused':
        return this.#unknown();
      case 'slow':
        // It accepts after the sender has given up.
        void this.#time.pause(timeout_ms + this.#random() * 120_000).then(() => {
          for (const entry of entries) this.#accept(entry);
        });
        await this.#time.pause(timeout_ms);
        return this.#unknown();
      case 'silent':
        await this.#time.pause(timeout_ms);
        return this.#unknown();
      case 'all_transient':
        return this.#answer(entries, () => 'transient');
      case 'some_transient':
        return this.#answer(entries, () => (this.#random() < 0.5 ? 'transient' : undefined));
      case 'quota_in_the_middle':
        return this.#answer(entries, (i) => (i >= entries.length / 2 ? 'quota' : undefined));
      default:
        return this.#answer(entries, () => undefined);
    }
  }

  #answer(entries: readonly BulkEntry[], refusal: (i: number) => Refusal['class'] | undefined): BulkAnswer {
    return {
      kind: 'answered',
      entries: entries.map((entry, i): EntryAnswer => {
        const kind = entry.to.startsWith('refused') ? 'recipient' : refusal(i);
        if (kind !== undefined) return { accepted: false, refusal: refusalOf(kind) };
        return { accepted: true, message_id: this.#accept(entry) };
      }),
    };
  }

  #accept({ to, tags }: BulkEntry): string {
    const receipt = { to, tags, at: this.#time.clock().getTime() };
    this.receipts.push(receipt);
    this.onAccepted(receipt);
    return `message-${this.receipts.length}`;
  }

  #unknown(): BulkAnswer {
    this.unanswered += 1;
    return { kind: 'unknown', error: 'TimeoutError' };
  }

  #mood(): Mood {
    const second = (this.#time.clock().getTime() - this.#begun) / 1000;
    return this.moods.filter(({ from_s }) => from_s <= second).at(-1)?.mood ?? 'accepts';
  }
}

function refused(kind: Refusal['class']): BulkAnswer {
  return { kind: 'refused', refusal: refusalOf(kind) };
}

function refusalOf(kind: Refusal['class']): Refusal {
  return { class: kind, reason: `because_${kind}` };
}
