import type { GoneReason } from './member.ts';

/**
 * The state of each recipient of a chunk, one character per recipient in the order of the chunk. Recipients move only
 * forward: pending → claimed → submitted, failed or uncertain; a claim that the provider refused moves back to pending.
 */
export const RECIPIENT_STATES = {
  pending: '.',
  /** A call for the recipient was begun and has not been recorded: shown as pending. */
  claimed: '>',
  submitted: 's',
  excluded: 'x',
  failed: 'f',
  /** The call's answer was lost: never sent again blindly. */
  uncertain: 'u',
} as const;

type RecipientState = keyof typeof RECIPIENT_STATES;
export type RecipientCode = (typeof RECIPIENT_STATES)[RecipientState];

/** States as users see them; a claimed recipient counts as pending. */
export const SHOWN_STATES = ['pending', 'submitted', 'excluded', 'failed', 'uncertain'] as const;
export type ShownState = (typeof SHOWN_STATES)[number];

/** Recipients by state; their sum is the number of recipients. */
export type StateCounts = Readonly<Record<ShownState, number>>;

/** Why a recipient gets no mail, frozen by the preparation or found when the chunk goes out. */
export type ExclusionReason =
  | GoneReason
  | 'suppressed'
  | 'unsubscribed'
  | 'malformed_address'
  | 'repeated_address'
  /** Sealed with a key that is gone, or altered: nobody can read the address any more. */
  | 'unreadable_address'
  | 'cancelled';

export const NO_RECIPIENTS: StateCounts = { pending: 0, submitted: 0, excluded: 0, failed: 0, uncertain: 0 };

/** Reason of an uncertain recipient that an operator decided to leave so (resolve --leave). */
export const LEFT = 'left';

/** Reason of a failed recipient who was not sent to until the address expired (newsletter.recipientDays). */
export const EXPIRED = 'expired';

const SHOWN_BY_CODE: ReadonlyMap<string, ShownState> = new Map(
  Object.entries(RECIPIENT_STATES).map(([state, code]) => [
    code,
    SHOWN_STATES.find((one) => one === state) ?? 'pending',
  ]),
);

/** @throws Error for a character that is no state */
export function shownState(code: string): ShownState {
  const shown = SHOWN_BY_CODE.get(code);
  if (shown === undefined)
    throw new Error(`A chunk holds the recipient state ${JSON.stringify(code)}, which is unknown.`);
  return shown;
}

export function countStates(states: string): StateCounts {
  const counts: Record<ShownState, number> = { ...NO_RECIPIENTS };
  for (const code of states) counts[shownState(code)] += 1;
  return counts;
}

export function addCounts(all: readonly StateCounts[]): StateCounts {
  const sum: Record<ShownState, number> = { ...NO_RECIPIENTS };
  for (const counts of all) for (const state of SHOWN_STATES) sum[state] += counts[state];
  return sum;
}

/**
 * What the provider's events reported of a batch's recipients: one bit per recipient and kind, so that an event that
 * comes twice counts once, and one small item takes the events of 1,000 recipients. The email's counts are the sums of
 * the bits; no counter is written, so none is hot and none is ever wrong.
 */
export const EVENT_KINDS = [
  'accepted',
  'delivered',
  'opened',
  'machine_opened',
  'clicked',
  'machine_clicked',
  'bounced',
  /** For the time being, after the provider's own tries: a full mailbox, a server that does not answer. */
  'soft_bounced',
  'complained',
  'unsubscribed',
  'rejected',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** Only a mail that the provider sent on has these. That it accepted one shows less: it may refuse it afterwards. */
export const WENT_ON: readonly EventKind[] = [
  ...(['delivered', 'opened', 'machine_opened', 'clicked', 'machine_clicked'] as const),
  ...(['bounced', 'soft_bounced', 'complained'] as const),
];

/** Why the provider refused a mail after it had accepted it, where that may be for what all mails have in common. */
const LATE_REFUSALS = ['rejected', 'rendering_failure'];
export const isLateRefusal = (reason: string | undefined): reason is string =>
  reason !== undefined && LATE_REFUSALS.includes(reason);

/** What an event of the provider tells of one recipient. */
export interface NewsletterEvent {
  readonly email_id: string;
  readonly batch_id: string;
  readonly chunk: number;
  /** Place in the chunk, from 0. */
  readonly n: number;
  /** Keyed hash of tenant and address: outlives the chunk. */
  readonly email_hash?: string;
  /** Kinds that it sets; every event but a rejection shows that the provider accepted the mail. */
  readonly kinds: readonly EventKind[];
  /** The address gets no newsletter any more. */
  readonly suppress?: 'bounced' | 'complained';
  /** Nothing was sent after all: the reason. */
  readonly rejected?: string;
  /** When the provider accepted the mail, and its id. */
  readonly sent_at?: string;
  readonly message_id?: string;
}

/** The bit of a recipient is its `placeInBatch`. */
export interface BatchEvents {
  readonly email_id: string;
  readonly batch_id: string;
  /** 0 when there is no item yet. Each change needs the version that it was read with. */
  readonly version: number;
  /** 125 bytes per kind at most; a kind without events is absent. */
  readonly bits: Readonly<Partial<Record<EventKind, Uint8Array>>>;
  /** When the newest mail that went on was sent. */
  readonly went_on_at?: string;
  /** When mails were sent that were refused late, by reason and `placeInBatch`: the newest, as many as hold an email. */
  readonly late_refusals?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** What events change of it. */
export type ToldEvents = Pick<BatchEvents, 'bits' | 'went_on_at' | 'late_refusals'>;

export function hasBit(bits: Uint8Array | undefined, place: number): boolean {
  return ((bits?.[place >> 3] ?? 0) & (1 << (place & 7))) !== 0;
}

/** States of who was to be sent to again, and waits, was left out or was refused. */
export const SENT_AGAIN = [RECIPIENT_STATES.pending, RECIPIENT_STATES.excluded, RECIPIENT_STATES.failed] as const;

/** Events show a mail that the provider accepted. Where it refused one late, another went on. */
export function showsMail({ bits }: Pick<BatchEvents, 'bits'>, place: number): boolean {
  return hasBit(bits.rejected, place)
    ? WENT_ON.some((kind) => hasBit(bits[kind], place))
    : hasBit(bits.accepted, place);
}

/** Events show a mail, and no rejection: who was to be sent to again had the first one. */
export const hadFirst = ({ accepted, rejected }: BatchEvents['bits'], place: number): boolean =>
  hasBit(accepted, place) && !hasBit(rejected, place);

/** A copy with the bits of the places set. */
export function withBits(bits: Uint8Array | undefined, places: readonly number[]): Uint8Array {
  const needed = Math.max(0, ...places.map((place) => (place >> 3) + 1));
  const next = new Uint8Array(Math.max(bits?.length ?? 0, needed));
  if (bits !== undefined) next.set(bits);
  for (const place of places) next[place >> 3] = (next[place >> 3] ?? 0) | (1 << (place & 7));
  return next;
}

export function countBits(bits: Uint8Array | undefined): number {
  let count = 0;
  for (let byte of bits ?? []) for (; byte > 0; byte &= byte - 1) count += 1;
  return count;
}
