import type { Channel, Lane } from '../model/channels.ts';
import { accountIn, dailyQuota, plannedRate, policyIn, roomFor } from './account.ts';
import { USES, type Use } from './pacing-policy.ts';
import { type BudgetReader, numberIn, type Registers } from './registers.ts';

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

/** The budgets of a channel as they are used now; none while nothing limits it. */
export async function readBudgets(channel: Channel, store: BudgetReader, at: Date): Promise<BudgetStatus[]> {
  if (channel === 'email') {
    const registers = await store.read(channel);
    return Object.keys(registers).length === 0 ? [] : [budgetStatus(channel, registers, at)];
  }
  const receivers = await store.receivers(channel);
  return receivers.length === 0 ? [] : [receiversStatus(channel, receivers, at)];
}

/** @param registers of the account */
export function budgetStatus(channel: Channel, registers: Registers, at: Date): BudgetStatus {
  const policy = policyIn(registers);
  const now = at.getTime();
  const account = accountIn(registers);
  const rooms = USES.map((use) => ({ use, ...roomFor(use, registers, policy, now) }));
  return {
    channel,
    per_second: Math.round(plannedRate(registers, policy, now) * 100) / 100,
    allowed_per_second: account?.per_second ?? null,
    max_24h: dailyQuota(registers, policy) ?? null,
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
    busy_receivers: 0,
  };
}

function receiversStatus(channel: Channel, receivers: readonly Registers[], at: Date): BudgetStatus {
  const now = at.getTime();
  const ends = (...names: string[]) =>
    receivers.map((one) => Math.max(...names.map((name) => numberIn(one, name) ?? 0)));
  const last = (lane: Lane) => laterThan(now, Math.max(...ends(lane)));
  return {
    channel,
    per_second: null,
    allowed_per_second: null,
    max_24h: null,
    sent_24h: null,
    enforcement: null,
    sending: null,
    production: null,
    read_at: null,
    paused: [],
    waiting_until: { express: last('express'), standard: last('standard') },
    busy_receivers: ends('express', 'standard', 'blocked_until').filter((end) => end > now).length,
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
  return laterThan(now, Math.max(0, ...ends));
}

const laterThan = (now: number, at: number): string | null => (at > now ? new Date(at).toISOString() : null);
