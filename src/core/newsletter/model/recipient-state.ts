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
const EXCLUSION_REASONS = ['suppressed', 'unsubscribed', 'malformed_address', 'repeated_address', 'cancelled'] as const;
export type ExclusionReason = (typeof EXCLUSION_REASONS)[number];

export const NO_RECIPIENTS: StateCounts = { pending: 0, submitted: 0, excluded: 0, failed: 0, uncertain: 0 };

/** Reason of an uncertain recipient that an operator decided to leave so (resolve --leave). */
export const LEFT = 'left';

const SHOWN_BY_CODE: Readonly<Record<string, ShownState>> = {
  '.': 'pending',
  '>': 'pending',
  s: 'submitted',
  x: 'excluded',
  f: 'failed',
  u: 'uncertain',
};

/** @throws Error for a character that is no state */
export function shownState(code: string): ShownState {
  const shown = SHOWN_BY_CODE[code];
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
