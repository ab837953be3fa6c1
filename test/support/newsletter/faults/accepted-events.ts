import type { VirtualTime } from '../../../../simulation/engine/virtual-time.ts';
import { changeState, refreshBatch } from '../../../../src/core/newsletter/accounting/change-state.ts';
import { acceptUncertain } from '../../../../src/core/newsletter/accounting/chunk-changes.ts';
import { hasBit, withBits } from '../../../../src/core/newsletter/model/delivery-bits.ts';
import type { BatchStore, ChunkStore, EventStore } from '../../../../src/core/newsletter/model/ports.ts';
import type { Receipt } from './provider.ts';

const LATE_MS = 300_000;

export interface AcceptedEventsDeps {
  readonly time: VirtualTime;
  readonly random: () => number;
  readonly stores: { readonly events: EventStore; readonly batches: BatchStore; readonly chunks: ChunkStore };
  readonly chunk_size: number;
  /** Part of the events that never come. */
  readonly lost: number;
}

/**
 * The provider's events of accepted mails: each writes its bit first, and looks at the state then
 * (docs/decisions/newsletters/job.md#0100).
 */
export class AcceptedEvents {
  /** Events on their way. */
  busy = 0;
  /** Mails of which no event will ever tell. */
  readonly lost = new Set<Receipt>();
  readonly #deps: AcceptedEventsDeps;

  constructor(deps: AcceptedEventsDeps) {
    this.#deps = deps;
  }

  emit(receipt: Receipt): void {
    const { random, lost } = this.#deps;
    if (random() < lost) this.lost.add(receipt);
    else void this.#apply(receipt);
  }

  async #apply({ tags: { email_id, chunk: tag, n: place } }: Receipt): Promise<void> {
    const { time, random, stores, chunk_size } = this.#deps;
    this.busy += 1;
    await time.pause(random() * LATE_MS);
    const [batch_id = '', number = ''] = tag.split('-');
    const [chunk, n] = [Number(number), Number(place)];
    const bit = chunk * chunk_size + n;
    for (;;) {
      const found = await stores.events.read(email_id, batch_id);
      if (hasBit(found.bits.accepted, bit)) break;
      const bits = { ...found.bits, accepted: withBits(found.bits.accepted, [bit]) };
      if ((await stores.events.change(found, bits)) !== undefined) break;
    }
    const state = await stores.chunks.readState({ email_id, batch_id, chunk });
    if (state !== undefined) {
      await changeState(state, (current) => acceptUncertain(current, (at) => at === n), stores);
      await refreshBatch(email_id, batch_id, stores);
    }
    this.busy -= 1;
  }
}
