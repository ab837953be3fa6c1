import {
  type Call,
  type ChunkKey,
  type ChunkState,
  RECIPIENT_STATES as CODE,
  type ExclusionReason,
  LEFT,
  processedTimes,
  type RecipientCode,
} from '../model/batch.ts';
import type { CallOutcome, EntryOutcome } from '../model/email-message.ts';

/**
 * The changes that the state of a chunk's recipients can take: each is a pure function of the state that was read and
 * gives the next one, or undefined when nothing would change.
 */
export type NextState = Omit<ChunkState, keyof ChunkKey | 'version'>;

/** What a change sets for single recipients, by place in the chunk. An undefined value removes it. */
interface Entry {
  readonly code?: RecipientCode;
  readonly reason?: string | undefined;
  readonly tries?: number | undefined;
  readonly unanswered?: string | undefined;
  readonly message_id?: string | undefined;
  readonly refused_at?: string;
}

export function placesOf(states: string, code: RecipientCode): number[] {
  return [...states].flatMap((found, n) => (found === code ? [n] : []));
}

/** Late exclusions, and the claim of one call, in one write. */
export function claimEntries(
  state: ChunkState,
  call: Call,
  excluded: ReadonlyMap<number, ExclusionReason>,
): NextState | undefined {
  const entries = new Map<number, Entry>();
  for (const [n, reason] of excluded) entries.set(n, { code: CODE.excluded, reason });
  for (const n of call.entries) entries.set(n, { code: CODE.claimed });
  const changed = withEntries(state, entries);
  return changed && (call.entries.length > 0 ? { ...changed, call } : changed);
}

/**
 * Records what the provider answered to a call, whenever the record comes: in time, after the call was taken for lost,
 * or again. What an older call reports as accepted is true whatever happened since, unless events refused it.
 */
export function applyOutcome(
  state: ChunkState,
  { call_id, outcomes, at }: CallOutcome,
  isRefused = (_: number) => false,
): NextState | undefined {
  const open = state.call?.call_id === call_id ? state.call.entries : [];
  const entries = new Map<number, Entry>();
  for (const outcome of outcomes) {
    const { n } = outcome;
    const code = state.states[n];
    const ours = code === CODE.claimed ? open.includes(n) : code === CODE.uncertain && state.unanswered[n] === call_id;
    if (!ours && isRefused(n)) continue;
    const entry = ours ? answeredEntry(state, outcome, call_id) : olderAnswer(state, outcome, call_id);
    if (entry !== undefined) entries.set(n, entry);
  }
  const changed = withEntries(state, entries);
  if (changed === undefined) return undefined;
  const { uncertain_at = '' } = state;
  const lost = [...entries.values()].some(({ code }) => code === CODE.uncertain);
  return {
    ...changed,
    ...processedTimes(state, changed, { at, places: [...entries].filter(([, { code }]) => code).map(([n]) => n) }),
    ...(lost && { uncertain_at: at > uncertain_at ? at : uncertain_at }),
  };
}

/** Why the provider refused a mail after it had accepted it, where that may be for what all mails have in common. */
const LATE_REFUSALS = ['rejected', 'rendering_failure'];
export const isLateRefusal = (reason: string | undefined): reason is string =>
  reason !== undefined && LATE_REFUSALS.includes(reason);

function answeredEntry(state: ChunkState, outcome: EntryOutcome, call_id: string): Entry {
  // An older call of the recipient turned out to be accepted while this one was open.
  const known = outcome.message_id ?? state.message_ids[outcome.n];
  return known === undefined ? unaccepted(outcome, call_id) : submitted(known);
}

function unaccepted(outcome: EntryOutcome, call_id: string): Entry {
  const { reason, tries } = outcome;
  switch (outcome.state) {
    case 'submitted':
      return submitted(undefined);
    case 'failed':
      return { code: CODE.failed, reason: reason ?? 'refused', unanswered: undefined };
    case 'uncertain':
      return { code: CODE.uncertain, unanswered: call_id };
    case 'pending':
      return {
        code: CODE.pending,
        unanswered: undefined,
        ...(tries !== undefined && { tries }),
        ...(reason !== undefined && { reason }),
      };
  }
}

function olderAnswer(
  state: ChunkState,
  { n, state: answered, message_id }: EntryOutcome,
  call_id: string,
): Entry | undefined {
  if (answered !== 'submitted' || state.states[n] === CODE.submitted) return undefined;
  const known = message_id !== undefined && state.message_ids[n] === message_id;
  // An event rejected it after the provider had accepted it.
  if (known || state.unanswered[n] === call_id || isLateRefusal(state.reasons[n])) return undefined;
  // The open call decides; it finds the id when it is recorded.
  if (state.states[n] === CODE.claimed) {
    return message_id === undefined || state.message_ids[n] !== undefined ? undefined : { message_id };
  }
  return submitted(message_id);
}

function submitted(message_id: string | undefined): Entry {
  return {
    code: CODE.submitted,
    reason: undefined,
    tries: undefined,
    unanswered: undefined,
    ...(message_id !== undefined && { message_id }),
  };
}

/**
 * What is still claimed after its call must have ended is uncertain: nobody sends it again but an operator, who has to
 * have seen it so for a while. So it counts from now, and not from the end of the call.
 */
export function expireCall(state: ChunkState, now: string): NextState | undefined {
  const { call } = state;
  if (call === undefined || call.until > now) return undefined;
  return applyOutcome(state, {
    call_id: call.call_id,
    at: now,
    outcomes: call.entries.map((n) => ({ n, state: 'uncertain' })),
  });
}

/** Ends pending recipients, each with its reason. */
export function failPending(state: ChunkState, reasons: ReadonlyMap<number, string>): NextState | undefined {
  const pending = [...reasons].filter(([n]) => state.states[n] === CODE.pending);
  return withEntries(
    state,
    new Map(pending.map(([n, reason]) => [n, { code: CODE.failed, reason, tries: undefined, unanswered: undefined }])),
  );
}

/** Events show that the provider accepted the recipients: what is uncertain is submitted, or what has a given code. */
export function acceptUncertain(
  state: ChunkState,
  accepted: (n: number) => boolean,
  codes: readonly RecipientCode[] = [CODE.uncertain],
) {
  const places = codes.flatMap((code) => placesOf(state.states, code)).filter(accepted);
  return withEntries(state, new Map(places.map((n) => [n, submitted(undefined)])));
}

/** What an event tells of a mail that was not sent after all. */
export interface Rejection {
  readonly reason: string;
  /** Of the mail: who is sent to again has another one. */
  readonly message_id?: string | undefined;
  readonly sent_at?: string | undefined;
}

/** Events show that nothing was sent after all, although the provider accepted it. Those of an older mail say nothing. */
export function rejectSubmitted(state: ChunkState, rejections: ReadonlyMap<number, Rejection>): NextState | undefined {
  const entries = new Map<number, Entry>();
  for (const [n, { reason, message_id, sent_at }] of rejections) {
    const [code, id] = [state.states[n], state.message_ids[n]];
    const isOld = sent_at !== undefined && sent_at <= (state.refused_at?.[n] ?? '');
    const isOther = message_id !== undefined && (id ?? message_id) !== message_id;
    if (isOld || isOther || (code !== CODE.submitted && code !== CODE.uncertain)) continue;
    entries.set(n, { code: CODE.failed, reason, ...(sent_at && { refused_at: sent_at }) });
  }
  return withEntries(state, entries);
}

/** Who was refused late with everybody is sent to again. */
export function returnRefused(state: ChunkState, wasRefused: (n: number) => boolean): NextState | undefined {
  const places = placesOf(state.states, CODE.failed).filter(wasRefused);
  return withEntries(
    state,
    new Map(places.map((n) => [n, { code: CODE.pending, tries: undefined, message_id: undefined }])),
  );
}

/** An operator's decision about uncertain recipients that no one has decided about yet. */
export function afterDecision(state: ChunkState, action: 'resend' | 'leave'): NextState | undefined {
  const open = undecidedIn(state);
  const entry: Entry =
    action === 'leave' ? { reason: LEFT } : { code: CODE.pending, tries: undefined, unanswered: undefined };
  return withEntries(state, new Map(open.map((n) => [n, entry])));
}

/** Uncertain recipients that no one has decided about yet, by place in the chunk. */
export function undecidedIn({ states, reasons }: ChunkState): number[] {
  return placesOf(states, CODE.uncertain).filter((n) => reasons[n] !== LEFT);
}

function withEntries(state: ChunkState, entries: ReadonlyMap<number, Entry>): NextState | undefined {
  if (entries.size === 0) return undefined;
  const { email_id: _, batch_id: __, chunk: ___, version: ____, call, uncertain_at, ...rest } = state;
  const codes = [...state.states];
  for (const [n, { code }] of entries) if (code !== undefined) codes[n] = code;
  const states = codes.join('');
  const changed = {
    ...rest,
    states,
    reasons: withValues(state.reasons, entries, 'reason'),
    tries: withValues(state.tries, entries, 'tries'),
    unanswered: withValues(state.unanswered, entries, 'unanswered'),
    message_ids: withValues(state.message_ids, entries, 'message_id'),
  };
  const refused_at = withValues(state.refused_at ?? {}, entries, 'refused_at');
  return {
    ...changed,
    ...(Object.keys(refused_at).length > 0 && { refused_at }),
    ...(call && states.includes(CODE.claimed) && { call }),
    ...(uncertain_at && states.includes(CODE.uncertain) && { uncertain_at }),
  };
}

function withValues<T>(
  values: Readonly<Record<string, T>>,
  entries: ReadonlyMap<number, Entry>,
  name: Exclude<keyof Entry, 'code'>,
): Readonly<Record<string, T>> {
  const touched = [...entries].filter(([, entry]) => name in entry);
  if (touched.length === 0) return values;
  const next: Record<string, T> = { ...values };
  for (const [n, entry] of touched) {
    if (entry[name] === undefined) delete next[n];
    else next[n] = entry[name] as T;
  }
  return next;
}
