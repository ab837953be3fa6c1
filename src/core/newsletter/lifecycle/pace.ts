import type { Email } from '../model/email.ts';

/**
 * When the batch after this one may begin: the batches that are left are spread over what is left of the delivery window
 * (配信デッドライン). A pause or a late start shortens the steps; after the deadline there are none.
 * @param left batches that are not begun yet, the one that begins now included
 */
export function paceOf({ delivery_deadline }: Email, left: number, now: Date): string | undefined {
  if (delivery_deadline === undefined) return undefined;
  const rest = Date.parse(delivery_deadline) - now.getTime();
  return new Date(now.getTime() + (rest <= 0 ? 0 : rest / Math.max(1, left))).toISOString();
}
