import { changeUntil } from '../../model/changes.ts';
import { type Clock, DAY_MS } from '../../model/time.ts';

/** What is kept of a sending domain: one item for all newsletters and tenants that use it. */
export interface DomainWarming {
  readonly domain: string;
  /** 0 when there is no item yet. Each change needs the version that it was read with. */
  readonly version: number;
  /** The last day of a reservation: UTC, YYYY-MM-DD. */
  readonly day: string;
  /** Days that the allowance has grown. */
  readonly step: number;
  /** Mails of the day: under `batches` what senders reserved, and by email_id what emails did once. */
  readonly reserved: Readonly<Record<string, number>>;
  /** Mails of the day that the provider accepted. Absent: it was not told, and all that is reserved counts. */
  readonly sent?: number;
  /** Reported since the day began, whenever the mails were sent. */
  readonly bounced: number;
  readonly complained: number;
  /** The sender that wrote last: of two that reserve as much at once, one has to ask again. */
  readonly by?: string;
}

export interface WarmingStore {
  read(domain: string): Promise<DomainWarming | undefined>;
  /** False when someone else changed the item since it was read with `version`; the next version is set. */
  write(warming: DomainWarming): Promise<boolean>;
}

export type Warming = ReturnType<typeof createWarming>;

/** Key of what senders reserved. No email has it. */
const BATCHES = 'batches';

/**
 * Of a domain and day, for all newsletters and tenants that use it: two in a day do not double it.
 * @param curve mails of a day by the days that it has grown; undefined: no limit any more
 */
export function createWarming(store: WarmingStore, clock: Clock, curve = allowanceOf) {
  type Plan<T> = (today: DomainWarming, stored: DomainWarming | undefined) => { next?: DomainWarming; answer: T };

  async function change<T>(domain: string, plan: Plan<T>) {
    const done = await changeUntil(
      async () => ({ stored: await store.read(domain) }),
      ({ stored }) => plan(asOf(clock(), stored, domain), stored),
      async (_, { next }) => next === undefined || store.write(next),
    );
    return done.plan?.answer;
  }

  return {
    /** What is left of the day's allowance; undefined: the domain has no limit any more. It reserves nothing. */
    left: async (domain: string): Promise<number | undefined> =>
      leftOf(asOf(clock(), await store.read(domain), domain), curve),

    /** Reserves up to `wanted` mails of the day's allowance. Undefined: no limit now. @param by the sender's claim */
    reserve: (domain: string, wanted: number, by: string): Promise<number | undefined> =>
      change(domain, (today) => {
        const left = leftOf(today, curve);
        const granted = left === undefined ? undefined : Math.min(wanted, left);
        if (granted === undefined || granted === 0) return { answer: granted };
        const { sent = mailsOf(today) } = today;
        return { next: { ...today, reserved: withBatches(today, granted), sent, by }, answer: granted };
      }),

    /** What became of a reservation of the day: mails that were not sent are given back, and accepted ones counted. */
    settle: (domain: string, day: string, { unused, sent }: { unused: number; sent: number }, by: string) =>
      change<void>(domain, (_, stored) => {
        // A day that is over has nothing to give back, and the next one has begun without these mails.
        if (stored === undefined || stored.day !== day || unused + sent === 0) return { answer: undefined };
        const counted = (stored.sent ?? mailsOf(stored)) + sent;
        return { next: { ...stored, reserved: withBatches(stored, -unused), sent: counted, by }, answer: undefined };
      }),

    /** Counts permanent bounces and complaints of mails from the domain. */
    report: (domain: string, { bounced, complained }: Pick<DomainWarming, 'bounced' | 'complained'>): Promise<void> =>
      // What is reported days later still tells of the last mails.
      change(domain, (_, stored) => ({
        ...(stored && {
          next: { ...stored, bounced: stored.bounced + bounced, complained: stored.complained + complained },
        }),
        answer: undefined,
      })),
  };
}

/**
 * The mails that one sender may send from a warmed domain. They are reserved for the day on which they are sent: a batch
 * that goes on another day reserves anew. What a sender that dies has reserved is not used on that day.
 */
export class WarmedMails {
  readonly #domain: string;
  readonly #by: string;
  readonly #warming: Pick<Warming, 'reserve' | 'settle'>;
  #reserved: { readonly day: string; unused: number; sent: number } | undefined;

  constructor(domain: string, by: string, warming: Pick<Warming, 'reserve' | 'settle'>) {
    this.#domain = domain;
    this.#by = by;
    this.#warming = warming;
  }

  /** How many mails may be sent now. @param wanted how many are reserved where none are left for this day */
  async allowed(wanted: number, now: Date): Promise<number> {
    const day = dayOf(now);
    if (this.#reserved?.day !== day || this.#reserved.unused <= 0) {
      await this.end();
      const granted = await this.#warming.reserve(this.#domain, wanted, this.#by);
      this.#reserved = { day, unused: granted ?? Number.POSITIVE_INFINITY, sent: 0 };
    }
    return this.#reserved.unused;
  }

  /** Whether what was reserved still counts then. */
  isFor(time: Date): boolean {
    return this.#reserved?.day === dayOf(time);
  }

  /** @param uncertain mails that may have been accepted */
  count({ submitted, uncertain }: { readonly submitted: number; readonly uncertain: number }): void {
    if (this.#reserved === undefined) return;
    this.#reserved.unused -= submitted + uncertain;
    this.#reserved.sent += submitted;
  }

  async end(): Promise<void> {
    const { day, unused, sent } = this.#reserved ?? {};
    this.#reserved = undefined;
    if (day === undefined || unused === undefined || sent === undefined || !Number.isFinite(unused)) return;
    await this.#warming.settle(this.#domain, day, { unused: Math.max(0, unused), sent }, this.#by);
  }
}

const dayOf = (time: Date): string => time.toISOString().slice(0, 10);

/** When the next day begins: UTC. */
export const nextDay = (now: Date): Date => new Date((Math.floor(now.getTime() / DAY_MS) + 1) * DAY_MS);

/**
 * The item as of a day. A new day makes the allowance grow by the days since the last mails, but by a week at most: a
 * domain is not trusted for being silent. Bad mails, or a day without accepted ones, do not make it grow.
 */
function asOf(now: Date, stored: DomainWarming | undefined, domain: string): DomainWarming {
  const day = dayOf(now);
  const nothing = { day, reserved: {}, sent: 0, bounced: 0, complained: 0 };
  if (stored === undefined) return { ...nothing, domain, version: 0, step: 0 };
  const days = Math.round((Date.parse(day) - Date.parse(stored.day)) / DAY_MS);
  if (days <= 0) return stored;
  const { sent = mailsOf(stored) } = stored;
  const grown = sent === 0 || isBadDay({ ...stored, sent }) ? 0 : Math.min(days, MOST_DAYS_AT_ONCE);
  return { ...nothing, domain, version: stored.version, step: stored.step + grown };
}

function mailsOf({ reserved }: DomainWarming): number {
  return Object.values(reserved).reduce((sum, count) => sum + count, 0);
}

function leftOf(today: DomainWarming, curve: typeof allowanceOf): number | undefined {
  const allowed = curve(today.step);
  return allowed === undefined ? undefined : Math.max(0, allowed - mailsOf(today));
}

function withBatches({ reserved }: DomainWarming, more: number): DomainWarming['reserved'] {
  return { ...reserved, [BATCHES]: Math.max(0, (reserved[BATCHES] ?? 0) + more) };
}

/** Mails that a new sending domain may send on its first day, and on its last one with a limit. */
const FIRST_DAY = 200;
const LAST_DAY = 200_000;
/** Days with a limit (Ghost's curve). */
export const WARM_UP_DAYS = 42;

/** Most days that the allowance grows by for the mails of one day, so that a weekly newsletter keeps to the curve. */
const MOST_DAYS_AT_ONCE = 7;

/** Part of a day's mails from which the day counts as a bad one, after which the allowance does not grow. */
const MANY_BOUNCES = 0.05;
const MANY_COMPLAINTS = 0.001;

/** @param step good days of the domain so far, from 0. Undefined: no limit any more. */
export function allowanceOf(step: number): number | undefined {
  if (step >= WARM_UP_DAYS) return undefined;
  return Math.round(FIRST_DAY * (LAST_DAY / FIRST_DAY) ** (step / (WARM_UP_DAYS - 1)));
}

function isBadDay(day: { readonly sent: number; readonly bounced: number; readonly complained: number }): boolean {
  const { sent, bounced, complained } = day;
  return sent > 0 && (bounced / sent >= MANY_BOUNCES || complained / sent >= MANY_COMPLAINTS);
}
