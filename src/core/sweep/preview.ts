import { messageFor } from '../model/queue-message.ts';
import type { DueItem } from '../model/work-index.ts';
import { type Foresight, runOptionsOf, type SweepRequest, type SweepTarget } from './sweep-run.ts';

/** Targets that a dry run lists unless the run is limited, and at most. */
const LISTED = 1_000;
const MOST_LISTED = 10_000;

/** What a dry run with `list` says of each notification that it would dispatch, in the order of the run. */
export class Preview {
  readonly targets: SweepTarget[] = [];
  readonly #room: number;
  readonly #request: SweepRequest;
  readonly #foresee: Foresight;

  constructor(request: SweepRequest, foresee: Foresight) {
    this.#request = request;
    this.#room = Math.min(request.limit ?? LISTED, MOST_LISTED);
    this.#foresee = foresee;
  }

  /** @returns false when there is no room for all of them */
  async add(items: readonly DueItem[]): Promise<boolean> {
    const listed = items.slice(0, this.#room - this.targets.length);
    this.targets.push(...(await Promise.all(listed.map((item) => this.#targetOf(item)))));
    return listed.length === items.length;
  }

  async #targetOf(item: DueItem): Promise<SweepTarget> {
    const { log_id, channel, priority } = item;
    const options = runOptionsOf(this.#request);
    const foreseen = await this.#foresee(messageFor(item, item.work_at, 'dry-run', { options }));
    return { log_id, channel, priority, ...foreseen };
  }
}
