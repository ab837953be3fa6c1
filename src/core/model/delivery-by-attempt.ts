/**
 * What a provider's events say about an attempt, the weakest first: the message came back, but for a reason that may
 * pass or that is not proven; a receiving server took the message; the message came back after all, for good; the
 * recipient opened it or complained about it, and so has it. Stored, so these words must never change.
 */
export const EVIDENCE = ['soft_bounced', 'delivered', 'bounced', 'seen'] as const;
export type DeliveryEvidence = (typeof EVIDENCE)[number];

/** By attempt number. The strongest evidence of an attempt counts, in whatever order its events come. */
export type DeliveryByAttempt = Readonly<Record<string, DeliveryEvidence>>;

export function withEvidence(
  known: DeliveryByAttempt = {},
  attempt: number,
  evidence: DeliveryEvidence,
): DeliveryByAttempt {
  const before = known[attempt];
  const stronger = before === undefined || EVIDENCE.indexOf(evidence) > EVIDENCE.indexOf(before);
  return stronger ? { ...known, [attempt]: evidence } : known;
}

/** One of the attempts has reached the recipient: another attempt would be a duplicate. */
export function arrived(known: DeliveryByAttempt = {}): boolean {
  return Object.values(known).some((evidence) => evidence === 'delivered' || evidence === 'seen');
}
