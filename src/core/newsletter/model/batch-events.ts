import { RECIPIENT_STATES } from './batch.ts';

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

/** One mail was refused late, and another one went on. */
export const hadAnother = ({ bits }: Pick<BatchEvents, 'bits'>, place: number): boolean =>
  hasBit(bits.rejected, place) && showsMail({ bits }, place);

/** One mail was refused late, and no other went on. */
export const isRejected = ({ bits }: Pick<BatchEvents, 'bits'>, place: number): boolean =>
  hasBit(bits.rejected, place) && !showsMail({ bits }, place);

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
