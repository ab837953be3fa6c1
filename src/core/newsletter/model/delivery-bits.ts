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
  'complained',
  'unsubscribed',
  'rejected',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** The place of a recipient in its batch is chunk × 50 + n. */
export interface BatchEvents {
  readonly email_id: string;
  readonly batch_id: string;
  /** 0 when there is no item yet. Each change needs the version that it was read with. */
  readonly version: number;
  /** 125 bytes per kind at most; a kind without events is absent. */
  readonly bits: Readonly<Partial<Record<EventKind, Uint8Array>>>;
}

export function hasBit(bits: Uint8Array | undefined, place: number): boolean {
  return ((bits?.[place >> 3] ?? 0) & (1 << (place & 7))) !== 0;
}

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
