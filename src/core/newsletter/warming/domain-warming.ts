import type { Clock } from '../../model/time.ts';

/** What is kept of a sending domain: one item for all newsletters and tenants that use it. */
export interface DomainWarming {
  readonly domain: string;
  /** 0 when there is no item yet. Each change needs the version that it was read with. */
  readonly version: number;
  /** The last day of a reservation: UTC, YYYY-MM-DD. */
  readonly day: string;
  /** Days that the allowance has grown. */
  readonly step: number;
  /** Mails of the day by email_id. */
  readonly reserved: Readonly<Record<string, number>>;
  /** Reported since the day began, whenever the mails were sent. */
  readonly bounced: number;
  readonly complained: number;
}

export interface WarmingStore {
  read(domain: string): Promise<DomainWarming | undefined>;
  /** False when someone else changed the item since it was read with `version`; the next version is set. */
  write(warming: DomainWarming): Promise<boolean>;
}

export type Warming = ReturnType<typeof createWarming>;

/** Of a domain and day, for all newsletters and tenants that use it: two in a day do not double it. */
export function createWarming(store: WarmingStore, clock: Clock) {
  type Plan<T> = (today: DomainWarming, stored: DomainWarming | undefined) => { next?: DomainWarming; answer: T };

  async function change<T>(domain: string, plan: Plan<T>) {
    for (;;) {
      const stored = await store.read(domain);
      const { next, answer } = plan(asOf(clock(), stored, domain), stored);
      if (next === undefined || (await store.write(next))) return answer;
    }
  }

  return {
    /**
     * Reserves up to `wanted` mails of the day's allowance, or what is left of it, for an email; the same email gets the
     * same answer again. Undefined: the domain has no limit any more.
     */
    reserve: (domain: string, email_id: string, wanted: number | undefined): Promise<number | undefined> =>
      change(domain, (warming) => {
        const allowed = allowanceOf(warming.step);
        const before = warming.reserved[email_id];
        if (allowed === undefined || before !== undefined)
          return { answer: allowed === undefined ? undefined : before };
        const left = Math.max(0, allowed - mailsOf(warming));
        const granted = wanted === undefined ? left : Math.min(wanted, left);
        // An entry of each small mailing of a day would make the item grow for nothing.
        if (granted === 0) return { answer: granted };
        return { next: { ...warming, reserved: { ...warming.reserved, [email_id]: granted } }, answer: granted };
      }),

    /** The emails that have mails of the day. */
    holders: async (domain: string): Promise<readonly string[]> =>
      Object.keys(asOf(clock(), await store.read(domain), domain).reserved),

    /** Gives back what the email does not use; an email that uses nothing may reserve again. */
    use: (domain: string, email_id: string, used: number): Promise<void> =>
      change(domain, (warming) => {
        const before = warming.reserved[email_id];
        // A preparation that began yesterday has used yesterday's allowance.
        if (before === undefined || before === used) return { answer: undefined };
        const { [email_id]: _, ...others } = warming.reserved;
        // Nothing was sent: the email may be tried again on the same day.
        const reserved = used === 0 ? others : { ...others, [email_id]: used };
        return { next: { ...warming, reserved }, answer: undefined };
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
 * The item as of a day. A new day makes the allowance grow by the days since the last mails, but by a week at most: a
 * domain is not trusted for being silent. Bad mails, or a day without any, do not make it grow.
 */
function asOf(now: Date, stored: DomainWarming | undefined, domain: string): DomainWarming {
  const day = now.toISOString().slice(0, 10);
  const nothing = { day, reserved: {}, bounced: 0, complained: 0 };
  if (stored === undefined) return { ...nothing, domain, version: 0, step: 0 };
  const days = Math.round((Date.parse(day) - Date.parse(stored.day)) / 86_400_000);
  if (days <= 0) return stored;
  const sent = mailsOf(stored);
  const grown = sent === 0 || isBadDay({ ...stored, sent }) ? 0 : Math.min(days, MOST_DAYS_AT_ONCE);
  return { ...nothing, domain, version: stored.version, step: stored.step + grown };
}

function mailsOf({ reserved }: DomainWarming): number {
  return Object.values(reserved).reduce((sum, count) => sum + count, 0);
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
