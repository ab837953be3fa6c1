import type { Channel, Lane } from '../model/channels.ts';
import { accountIn, dailyQuota, plannedRate, policyIn, roomFor } from './account.ts';
import { numberIn, type Registers } from './registers.ts';
import { USES, type Use } from './uses.ts';

/** An operator's view of a channel's budget. */
export interface BudgetStatus {
  readonly channel: Channel;
  /** Sends a second that are planned now; null where each receiver has a rate of its own. */
  readonly per_second: number | null;
  /** What SES allows a second; null for other channels, and while it is not known. */
  readonly allowed_per_second: number | null;
  /** Recipients in 24 hours; null: no quota, or it is not known. */
  readonly max_24h: number | null;
  readonly sent_24h: number | null;
  /** HEALTHY, PROBATION or SHUTDOWN, and whether sending is enabled. */
  readonly enforcement: string | null;
  readonly sending: boolean | null;
  /** False in SES's sandbox. */
  readonly production: boolean | null;
  /** When SES was asked. */
  readonly read_at: string | null;
  /** Uses that get nothing now, and until when as far as that is known. */
  readonly paused: readonly { readonly use: Use; readonly why: 'quota' | 'account'; readonly until: string }[];
  /** When the last message that the rate made wait is tried again, by lane; null: none waits. */
  readonly waiting_until: Readonly<Record<Lane, string | null>>;
  /** Receivers whose next turn is still to come. */
  readonly busy_receivers: number;
}

export function budgetStatus(channel: Channel, registers: Registers, at: Date): BudgetStatus {
  const policy = policyIn(registers);
  const now = at.getTime();
  const account = accountIn(registers);
  const shared = channel === 'email';
  const rooms = shared ? USES.map((use) => ({ use, ...roomFor(use, registers, policy, now) })) : [];
  const busy = Object.entries(registers).filter(([name, next]) => name.startsWith('next:') && Number(next) > now);
  return {
    channel,
    per_second: shared ? Math.round(plannedRate(registers, policy, now) * 100) / 100 : null,
    allowed_per_second: account?.per_second ?? null,
    max_24h: shared ? (dailyQuota(registers, policy) ?? null) : null,
    sent_24h: account === undefined ? null : account.sent_24h + account.granted,
    enforcement: account?.enforcement ?? null,
    sending: account?.sending ?? null,
    production: account?.production ?? null,
    read_at: account === undefined ? null : new Date(account.read_at).toISOString(),
    paused: rooms.flatMap(({ use, why, until }) =>
      why === undefined ? [] : [{ use, why, until: new Date(until).toISOString() }],
    ),
    waiting_until: {
      express: waitingUntil(registers, 'express', now),
      standard: waitingUntil(registers, 'standard', now),
    },
    busy_receivers: shared ? 0 : busy.length,
  };
}

/** Whether messages of the lane wait for their turn: they are delayed in SQS, and still due. */
export function isWaiting(registers: Registers, lane: Lane, now: Date): boolean {
  return waitingUntil(registers, lane, now.getTime()) !== null;
}

function waitingUntil(registers: Registers, lane: Lane, now: number): string | null {
  const ends = Object.keys(registers)
    .filter((name) => name.startsWith('line:') && name.endsWith(`:${lane}`))
    .map((name) => numberIn(registers, name) ?? 0);
  const last = Math.max(0, ...ends);
  return last > now ? new Date(last).toISOString() : null;
}
