import { type Breaker, heldSince, shownPhaseOf } from '../../breaker/breaker.ts';
import { providerKey } from '../../breaker/shared-breakers.ts';
import type { Channel } from '../../model/channels.ts';
import { asNotification, type ForeignRow } from '../../model/notification.ts';
import { type RowState, stateOf } from '../../model/row-state.ts';
import { shownText } from '../../model/text.ts';

export type BreakerStatus = ReturnType<typeof breakerStatus>[number];

/** The breakers that are not closed. The one that opened first comes first. */
export function breakerStatus(breakers: readonly Breaker[], now: Date) {
  return breakers
    .flatMap((breaker) => {
      const state = shownPhaseOf(breaker, now);
      if (state === 'closed') return [];
      const [channel = '', ...integration] = breaker.id.split('#');
      return [
        {
          channel: channel as Channel,
          integration: integration.join('#'),
          state,
          since: breaker.since,
          held: heldSince(breaker),
          last_error: breaker.error_type,
          next_probe_at: state === 'open' ? breaker.probe_at : null,
        },
      ];
    })
    .sort((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : 0));
}

/** The state of a row as it is shown: what is unfinished is `held` while the breaker of its provider is not closed. */
export type ShownState = RowState | 'held';

/** What holds a row, and until when at the soonest. */
export interface Hold {
  /** The provider, as its breaker names it. */
  readonly held_by: string;
  /** When it is tried again: at its own time, but not before the next probe. */
  readonly held_until: string;
}

/** The columns that say which breaker holds a row. */
export const HELD_COLUMNS = [
  ...['log_id', 'channel', 'tenant_id', 'integration_config_id', 'provider_host'],
  ...['send_status', 'failure_reason', 'work_queue', 'work_at', 'claim_until', 'priority'],
];

/** @returns undefined for a row that is not held: no breaker of its provider is open, or it is not to be sent anyway */
export function holderOf(row: ForeignRow, breakers: readonly BreakerStatus[], now: Date): BreakerStatus | undefined {
  if (breakers.length === 0) return undefined;
  const state = stateOf(asNotification(row), now);
  if (state !== 'due' && state !== 'waiting') return undefined;
  const { channel } = asNotification(row);
  const integration_config_id = shownText(row['integration_config_id']);
  const provider_host = shownText(row['provider_host']);
  const routed = {
    channel,
    tenant_id: shownText(row['tenant_id']) ?? '',
    ...(integration_config_id !== undefined && { integration_config_id }),
    ...(provider_host !== undefined && { provider_host }),
  };
  const keys = [providerKey(routed), providerKey(routed, 'recipient')];
  return breakers.find(
    (breaker) => breaker.channel === channel && keys.includes([channel, breaker.integration].join('#')),
  );
}

export function holdOf(row: ForeignRow, breakers: readonly BreakerStatus[], now: Date): Hold | undefined {
  const holder = holderOf(row, breakers, now);
  const work_at = row['work_at'];
  if (holder === undefined || typeof work_at !== 'string') return undefined;
  const { integration, next_probe_at } = holder;
  return { held_by: integration, held_until: [work_at, next_probe_at ?? ''].sort().at(-1) ?? work_at };
}

/** Rows of one kind that are read to tell which of them are held: with more, every second one, and so on. */
const MOST = 100;

/** Of many notifications of one kind, some that are spread evenly over them. */
class Sample {
  ids: string[] = [];
  seen = 0;
  total = 0;
  #step = 1;

  add(log_id: string, weight: number): void {
    if (this.seen % this.#step === 0) this.ids.push(log_id);
    this.seen += 1;
    this.total += weight;
    if (this.ids.length <= MOST) return;
    this.ids = this.ids.filter((_, i) => i % 2 === 0);
    this.#step *= 2;
  }
}

/** Reads HELD_COLUMNS of rows, in any order; one that is gone is left out. */
export type HeldRows = (log_ids: readonly string[]) => Promise<readonly ForeignRow[]>;

export interface HeldFigures<Kind> {
  readonly of: (kind: Kind) => number;
  readonly by: (breaker: BreakerStatus) => number;
  /** Kinds of which only a part was looked at. */
  readonly estimated: ReadonlySet<Kind>;
}

/** Counts what is held by the rows of the channels that have a breaker: the work index does not know the provider. */
export class HeldCount<Kind> {
  readonly #breakers: readonly BreakerStatus[];
  readonly #samples = new Map<Kind, Sample>();

  constructor(breakers: readonly BreakerStatus[]) {
    this.#breakers = breakers;
  }

  /** Whether anything of the channel can be held. */
  concerns(channel: string): boolean {
    return this.#breakers.some((breaker) => breaker.channel === channel);
  }

  /** @param kind what is counted apart @param weight how many it stands for, the same for all of a kind */
  add(kind: Kind, log_id: string, weight = 1): void {
    const sample = this.#samples.get(kind) ?? new Sample();
    this.#samples.set(kind, sample);
    sample.add(log_id, weight);
  }

  async figures(rowsOf: HeldRows, now: Date): Promise<HeldFigures<Kind>> {
    const byKind = new Map<Kind, number>();
    const byBreaker = new Map<BreakerStatus, number>();
    const looks = [...this.#samples].map(async ([kind, { ids, total }]) => {
      for (const row of await rowsOf(ids)) {
        const holder = holderOf(row, this.#breakers, now);
        if (holder === undefined) continue;
        byKind.set(kind, (byKind.get(kind) ?? 0) + total / ids.length);
        byBreaker.set(holder, (byBreaker.get(holder) ?? 0) + total / ids.length);
      }
    });
    await Promise.all(looks);
    const partly = [...this.#samples].filter(([, { ids, seen }]) => ids.length < seen).map(([kind]) => kind);
    return {
      of: (kind) => Math.round(byKind.get(kind) ?? 0),
      by: (breaker) => Math.round(byBreaker.get(breaker) ?? 0),
      estimated: new Set(partly),
    };
  }
}

/** The unfinished notifications: each is counted once, and their sum is what the work index holds. */
export interface Unfinished {
  /** Notifications whose time has come, also those that are queued. */
  readonly due: number;
  /** Notifications whose time is in the future. */
  readonly waiting: number;
  /** Notifications whose provider is down, or has just come back: they are let go when it is up. */
  readonly held: number;
  /** Notifications that a channel function has received: an approximate count by SQS, of at most those that could be. */
  readonly in_flight: number;
}

export interface Holders {
  readonly breakers: readonly BreakerStatus[];
  readonly rows: HeldRows;
}
export const NOTHING_HOLDS: Holders = { breakers: [], rows: async () => [] };

/** What was counted of a channel or a lane. */
export interface Counted {
  past: number;
  future: number;
}

/** A message in flight is of a notification whose time has come, and which nothing holds. */
export function unfinished(counted: Counted, held: Counted, messages: number): Unfinished {
  const come = Math.max(0, counted.past - held.past);
  const in_flight = Math.min(messages, come);
  const waiting = Math.max(0, counted.future - held.future);
  return { due: come - in_flight, waiting, held: held.past + held.future, in_flight };
}

/** Where all that are due are held, none is late. */
export const oldestOf = ({ due, in_flight }: Unfinished, oldest: string | null) =>
  due + in_flight > 0 ? oldest : null;
