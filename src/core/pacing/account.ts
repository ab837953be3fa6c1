import { DEFAULT_PACING_POLICY, PACING_SETTINGS, type PacingPolicy, PLANNED_SHARE, type Use } from './pacing-policy.ts';
import { numberIn, type Registers, type Step } from './registers.ts';

/** What the provider says about the account that all e-mail goes through. */
export interface AccountLimits {
  readonly per_second: number;
  /** Recipients in any 24 hours; absent: no limit. */
  readonly max_24h?: number;
  readonly sent_24h: number;
  /** False while sending is paused, by us or by AWS. */
  readonly sending: boolean;
  /** HEALTHY, PROBATION or SHUTDOWN. */
  readonly enforcement: string;
  /** False in SES's sandbox. */
  readonly production: boolean;
}

/** An account's state as all workers share it. */
export interface Account extends AccountLimits {
  /** Epoch milliseconds at which the provider was asked. */
  readonly read_at: number;
  /** Granted since then. */
  readonly granted: number;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** How long a lowered rate takes to recover. */
export const RECOVERY_MS = 60_000;
const LOWERED = 0.7;
const LOWEST = 0.1;
/** How long nothing is sent after the answer that the quota is used up: newsletters ask again within five minutes. */
const EXHAUSTED_MS = 240_000;
/** The quota's last part stays unused: e-mails that the account has accepted and not yet counted. */
const UNCOUNTED_SECONDS = 2;

export function accountIn(registers: Registers): Account | undefined {
  const per_second = numberIn(registers, 'per_second');
  const read_at = numberIn(registers, 'read_at');
  if (per_second === undefined || read_at === undefined) return undefined;
  const max_24h = numberIn(registers, 'max_24h');
  return {
    per_second,
    read_at,
    ...(max_24h !== undefined && { max_24h }),
    sent_24h: numberIn(registers, 'sent_24h') ?? 0,
    sending: registers['sending'] !== 'no',
    enforcement: String(registers['enforcement'] ?? ''),
    production: registers['production'] !== 'no',
    granted: Math.max(0, numberIn(registers, 'granted') ?? 0),
  };
}

/** How a budget is divided. Both are shares of the whole, 0…1. */
export interface Shares {
  /** Kept free for `express`. */
  readonly express_only: number;
  /** The most that newsletters may take; at most 1 − express_only. */
  readonly newsletter: number;
}

/**
 * The share of a budget up to which a use may take from it, counting what all uses have taken. `info` lies halfway
 * between newsletters and `normal`, so that a quota pauses newsletters first, then `info`, then `normal`.
 */
export function ceilingOf(use: Use, { express_only, newsletter }: Shares): number {
  const standard = 1 - express_only;
  const bulk = Math.min(newsletter, standard);
  return { express: 1, standard, info: (standard + bulk) / 2, newsletter: bulk }[use];
}

/** E-mails per second that may be planned now. */
export function plannedRate(registers: Registers, policy: PacingPolicy, now: number): number {
  const allowed = accountIn(registers)?.per_second ?? policy.fallback_per_second;
  return Math.min(allowed, policy.max_per_second ?? allowed) * PLANNED_SHARE * loweredTo(registers, now);
}

/** The factor by which a refusal for the rate lowers it, which recovers evenly to 1. */
function loweredTo(registers: Registers, now: number): number {
  const at = numberIn(registers, 'lowered_at');
  const factor = numberIn(registers, 'lowered_to') ?? 1;
  if (at === undefined) return 1;
  const recovered = Math.min(1, Math.max(0, now - at) / RECOVERY_MS);
  return factor + (1 - factor) * recovered;
}

/** The provider refused an e-mail for the rate: all workers slow down, at most one step per second. */
export function loweringSteps(registers: Registers, now: number): Step[] {
  const factor = Math.max(LOWEST, loweredTo(registers, now) * LOWERED);
  return [
    { name: 'lowered_at', set: now, guard: { at_most: now - 1_000, or_absent: true } },
    { name: 'lowered_to', set: factor },
  ];
}

/** The provider refused an e-mail for the quota. */
export const exhaustedSteps = (now: number): Step[] => [{ name: 'exhausted_until', set: now + EXHAUSTED_MS }];

/** The most e-mails in 24 hours; undefined: no limit is known. */
export function dailyQuota(registers: Registers, policy: PacingPolicy): number | undefined {
  const limits = [accountIn(registers)?.max_24h, policy.max_per_day].filter((limit) => limit !== undefined);
  return limits.length === 0 ? undefined : Math.min(...limits);
}

/** Nothing may be sent: sending is paused, or AWS has shut the account down. */
export const isStopped = ({ sending, enforcement }: Account): boolean => !sending || enforcement === 'SHUTDOWN';

/** How many more a use may send today, and otherwise when to ask again. */
export interface Room {
  /** Infinity without a quota; negative when other uses have taken more than this use may. */
  readonly left: number;
  readonly why?: 'quota' | 'account';
  /** Epoch milliseconds; meaningful when nothing is left. */
  readonly until: number;
}

export function roomFor(use: Use, registers: Registers, policy: PacingPolicy, now: number): Room {
  const account = accountIn(registers);
  const soon = now + EXHAUSTED_MS;
  if (account !== undefined && isStopped(account)) {
    return { left: 0, why: 'account', until: soon };
  }
  const exhausted = numberIn(registers, 'exhausted_until') ?? 0;
  const quota = dailyQuota(registers, policy);
  const sent = (account?.sent_24h ?? 0) + (account?.granted ?? numberIn(registers, 'granted') ?? 0);
  const margin = Math.ceil(UNCOUNTED_SECONDS * plannedRate(registers, policy, now));
  const left =
    quota === undefined
      ? Number.POSITIVE_INFINITY
      : Math.floor(ceilingOf(use, policy) * Math.max(quota - margin, quota / 2)) - sent;
  if (left >= 1 && exhausted <= now) return { left, until: now };
  const until = left >= 1 ? exhausted : Math.max(exhausted, freedAt(registers, 1 - left, now));
  return { left: Math.min(left, 0), why: 'quota', until };
}

/** When enough of our own e-mails have left the rolling 24 hours; in an hour if others' e-mails used up the quota. */
function freedAt(registers: Registers, needed: number, now: number): number {
  let freed = 0;
  for (const hour of hoursIn(registers)) {
    const count = numberIn(registers, hourName(hour)) ?? 0;
    const part = Math.min(1, (needed - freed) / Math.max(1, count));
    freed += count;
    if (freed >= needed) return Math.max(now + 60_000, Math.ceil((hour + part) * HOUR + DAY));
  }
  return now + HOUR;
}

/** What a grant of `count` e-mails adds to the account's counters. */
export function spendingSteps(count: number, granted_at_most: number | undefined, now: number): Step[] {
  return [
    {
      name: 'granted',
      add: count,
      base: 0,
      ...(granted_at_most !== undefined && { guard: { at_most: granted_at_most, or_absent: true } }),
    },
    { name: hourName(Math.floor(now / HOUR)), add: count, base: 0 },
  ];
}

/**
 * Writes down what the account's provider said, and by which policy it is used, for those who only look.
 * @param counted what had been granted before the provider was asked, which its answer includes
 */
export function limitsSteps(
  registers: Registers,
  limits: AccountLimits,
  { counted, read_at, policy }: { readonly counted: number; readonly read_at: number; readonly policy: PacingPolicy },
): Step[] {
  const old = hoursIn(registers).filter((hour) => hour * HOUR < read_at - DAY - HOUR);
  return [
    { name: 'per_second', set: limits.per_second },
    limits.max_24h === undefined ? { name: 'max_24h', remove: true } : { name: 'max_24h', set: limits.max_24h },
    { name: 'sent_24h', set: limits.sent_24h },
    { name: 'sending', set: limits.sending ? 'yes' : 'no' },
    { name: 'enforcement', set: limits.enforcement },
    { name: 'production', set: limits.production ? 'yes' : 'no' },
    { name: 'read_at', set: read_at },
    { name: 'granted', add: -counted, base: counted },
    ...POLICY_NAMES.map((name): Step => {
      const value = policy[name];
      return value === undefined ? { name, remove: true } : { name, set: value };
    }),
    ...old.map((hour): Step => ({ name: hourName(hour), remove: true })),
  ];
}

const POLICY_NAMES = Object.values(PACING_SETTINGS).map(({ name }) => name);

/** The policy of the workers that used the budget last. */
export function policyIn(registers: Registers): PacingPolicy {
  const known = POLICY_NAMES.flatMap((name) => {
    const value = numberIn(registers, name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...DEFAULT_PACING_POLICY, ...Object.fromEntries(known) };
}

const hourName = (hour: number) => `hour:${hour}`;

function hoursIn(registers: Registers): number[] {
  return Object.keys(registers)
    .flatMap((name) => /^hour:(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}
