/**
 * What a provider's events can tell of an attempt, the weakest first: a receiving server took it; it came back after all; the
 * recipient opened it or complained about it, and so has it. Stored, so these words must never change.
 */
const NEWS = ['delivered', 'bounced', 'seen'] as const;
export type DeliveryNews = (typeof NEWS)[number];

/** By attempt number. Of all that was told of an attempt the strongest counts, whatever the order it was told in. */
export type DeliveryByAttempt = Readonly<Record<string, DeliveryNews>>;

export function withNews(known: DeliveryByAttempt = {}, attempt: number, told: DeliveryNews): DeliveryByAttempt {
  const before = known[attempt];
  return before === undefined || NEWS.indexOf(told) > NEWS.indexOf(before) ? { ...known, [attempt]: told } : known;
}

/** The recipient has the notification, by whichever attempt: another one would be a duplicate. */
export function arrived(known: DeliveryByAttempt = {}): boolean {
  return Object.values(known).some((news) => news !== 'bounced');
}
