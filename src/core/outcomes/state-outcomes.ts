import type { ForeignRow } from '../model/notification.ts';
import { type Outcome, type OutcomeContext, outcomeOf, textsOf, timeOf } from './outcome.ts';

/**
 * A change of an item whose stream has both images: a breaker is written for every batch that it holds, and a member's
 * address for every newsletter, so only what differs is told.
 */
export interface ItemChange {
  readonly before?: ForeignRow | undefined;
  readonly after?: ForeignRow | undefined;
}

/**
 * A breaker that opens is `Provider Down`; one that lets go what it holds, or is closed, is `Provider Up`, and so is one
 * that expires because nothing came to it for two days: a provider without a breaker is up. `Provider Down` is repeated
 * when the monitor has noted that it has been down for days.
 */
export function providerOutcomes({ before, after }: ItemChange, context: OutcomeContext): Outcome[] {
  const provider = (after ?? before)?.['id'];
  if (typeof provider !== 'string') return [];
  const [channel = ''] = provider.split('#');
  const told = (
    kind: 'Provider Down' | 'Provider Up',
    at: string,
    rest: Partial<Outcome['detail']>,
    identity: readonly unknown[] = [],
  ) => outcomeOf(kind, { identity: [provider, at, ...identity], at, channel, provider, ...rest }, context);
  const was = before?.['state'];
  if (after === undefined) return was === 'open' ? [told('Provider Up', context.seen_at, { status: 'closed' })] : [];
  const { state } = after;
  if (state !== 'open') {
    const at = timeOf([after['draining_since']], context.seen_at);
    return was === 'open' ? [told('Provider Up', at, { status: String(state) })] : [];
  }
  const since = timeOf([after['down_since']], context.seen_at);
  const down = { status: 'open', ...textsOf(after, ['error_type']) };
  if (was !== 'open') return [told('Provider Down', since, down)];
  const noted = notedOf(after);
  if (noted === undefined || noted.days === notedOf(before)?.days) return [];
  return [told('Provider Down', since, { ...down, counts: noted }, [noted.days])];
}

/** What the monitor has noted of this outage: the note of one that is over stays in the item. */
function notedOf(breaker: ForeignRow | undefined): { readonly days: number; readonly waiting?: number } | undefined {
  const { since, days, waiting } = Object(breaker?.['noted']);
  if (typeof days !== 'number' || since !== breaker?.['down_since']) return undefined;
  return { days, ...(typeof waiting === 'number' && { waiting }) };
}

const ENDED: readonly unknown[] = ['submitted', 'failed', 'cancelled'];

/** `Email Ended`, each time that the sending of an email ends: a failed one may be sent again, and end again. */
export function emailOutcomes({ before, after }: ItemChange, context: OutcomeContext): Outcome[] {
  if (after === undefined || !ENDED.includes(after['status']) || before?.['status'] === after['status']) return [];
  const { email_id, ended_counts } = after;
  const at = timeOf([after['updated_at']], context.seen_at);
  const ids = textsOf(after, ['tenant_id', 'newsletter_id', 'email_id', 'status']);
  const counts = typeof ended_counts === 'object' && ended_counts !== null && (ended_counts as Record<string, number>);
  return [
    outcomeOf('Email Ended', { identity: [email_id, ids.status, at], at, ...ids, ...(counts && { counts }) }, context),
  ];
}

/** What became of an address. It names no member yet: the facts of an address outlive its members. */
export interface AddressChange {
  readonly kind: 'Member Unsubscribed' | 'Member Suppressed';
  readonly at: string;
  readonly newsletter_id?: string;
  /** Why the address is suppressed. */
  readonly status?: string;
}

const UNSUBSCRIBED = 'unsubscribed#';

/** What the facts of an address have that they did not have before: lifting something tells nothing. */
export function addressChanges(
  { before = {}, after = {} }: ItemChange,
  { seen_at }: Pick<OutcomeContext, 'seen_at'>,
): AddressChange[] {
  return Object.entries(after).flatMap(([name, value]): AddressChange[] => {
    if (JSON.stringify(before[name]) === JSON.stringify(value)) return [];
    if (name === 'suppressed') {
      const { reason, at } = Object(value);
      return [{ kind: 'Member Suppressed', at: timeOf([at], seen_at), ...(reason && { status: String(reason) }) }];
    }
    if (!name.startsWith(UNSUBSCRIBED)) return [];
    const newsletter_id = name.slice(UNSUBSCRIBED.length);
    return [{ kind: 'Member Unsubscribed', at: timeOf([value], seen_at), newsletter_id }];
  });
}

/**
 * The outcomes of an address that has these members: none where it has none any more. A member who moves takes the facts
 * along with their times, so that the outcome of the new address is a repetition.
 */
export function memberOutcomes(
  { kind, at, ...rest }: AddressChange,
  { tenant_id, member_ids }: { readonly tenant_id: string; readonly member_ids: readonly string[] },
  context: Pick<OutcomeContext, 'hash'>,
): Outcome[] {
  return member_ids.map((member_id) =>
    outcomeOf(
      kind,
      { identity: [tenant_id, member_id, rest.newsletter_id, at], at, tenant_id, member_id, ...rest },
      context,
    ),
  );
}
