import { Problem } from '../model/problem.ts';
import { type Clock, epochMs } from '../model/time.ts';

/** An action that is written down before it begins: its end is added when it is known. */
export interface AuditRecord {
  readonly audit_id: string;
  /** ISO-8601 UTC with milliseconds. */
  readonly at: string;
  readonly who: string;
  readonly role: string;
  readonly what: string;
  /** The first few targets. */
  readonly on: readonly string[];
  readonly targets: number;
  readonly request_id: string;
  /** Counts by result; absent while it runs, and for ever if its process crashed. */
  readonly result?: Readonly<Record<string, number>>;
  /** Never an address or a credential. */
  readonly details?: string;
}

export interface KnownRequest {
  readonly begun_at: string;
  /** Tells a repetition from another request with the same id. */
  readonly fingerprint: string;
  /** JSON; absent: it has not ended. */
  readonly answer?: string;
}

interface AuditQuery {
  readonly from: string;
  readonly to: string;
  readonly limit: number;
  /** Place after which the page begins, as a page gave it. */
  readonly after?: AuditPlace;
  readonly fits: (record: AuditRecord) => boolean;
}

export interface AuditPlace {
  readonly day: string;
  readonly item: string;
}

/** How far back a reader looks who says no more: 7 days. */
export const AUDIT_PERIOD_MS = 7 * 86_400_000;

/** What a reader of the log may ask for; each absent field asks for all. */
export interface AuditFilter {
  readonly who?: string | undefined;
  readonly what?: string | undefined;
  /** One of the first few targets. */
  readonly target?: string | undefined;
}

export function fitsAudit({ who, what, target }: AuditFilter, record: AuditRecord): boolean {
  return (
    (who === undefined || record.who === who) &&
    (what === undefined || record.what === what) &&
    (target === undefined || record.on.includes(target))
  );
}

export interface AuditLog {
  /** Takes the request unless it is known. @returns what is known of it */
  begin(request_id: string, request: Omit<KnownRequest, 'answer'>): Promise<KnownRequest | undefined>;
  /** Keeps the answer for the repetitions of the request. */
  answer(request_id: string, answer: string): Promise<void>;
  /** Lets the request that began then be sent again under its id: it was refused. One that another took over stays. */
  release(request_id: string, begun_at: string): Promise<void>;
  /** Takes over a request that nobody ended. False when another one was faster. */
  takeOver(request_id: string, was: KnownRequest, begun_at: string): Promise<boolean>;
  /** Writes the record, or writes it again with its result. */
  write(record: AuditRecord): Promise<void>;
  /** Newest first. */
  list(query: AuditQuery): Promise<{ readonly records: readonly AuditRecord[]; readonly next?: AuditPlace }>;
}

export interface AuditDeps {
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Takes each record, begun and ended, for the log. */
  readonly onRecord: (record: AuditRecord) => void;
  /** Takes why the result or the answer of what took effect could not be written. */
  readonly onUnwritten: (error: unknown) => void;
}

/** What the audit log keeps of a decision. */
interface Audit {
  readonly what: string;
  readonly on: readonly string[];
  /** Never an address of a recipient, or a credential. The record keeps it as JSON. */
  readonly details?: object;
  /** The decision shows data and changes nothing. A repeated request is shown it again, with a record of its own. */
  readonly shows?: true;
}

/** A checked decision that is not carried out yet. The front that was asked audits it and calls `run`. */
export interface Decision<A> {
  /** Undefined: nothing to audit, as it changes nothing and shows no personal data, like a dry run. */
  readonly audit: Audit | undefined;
  readonly run: () => Promise<Outcome<A>>;
}

export const decisionOf = <A>(audit: Decision<A>['audit'], run: Decision<A>['run']): Decision<A> => ({ audit, run });

/** The result of a decision. `repeated`: the answer is that of an earlier request with the same id, which ran it. */
export interface Decided<A> {
  readonly answer: A;
  readonly repeated: boolean;
}

interface AskedAction extends Omit<Audit, 'shows'>, Pick<AuditRecord, 'who' | 'role' | 'request_id'> {}

/** Its request_id is made by the client, once per decision of a person. */
interface AuditedAction extends AskedAction {
  /** Everything that makes the request what it is. */
  readonly fingerprint: string;
}

export interface Outcome<A> {
  readonly answer: A;
  readonly result: Readonly<Record<string, number>>;
  /** What a repetition is answered, if it must not see all: a key is shown once. */
  readonly stored?: A;
}

/** The first targets that a record names; a job names its filter instead. */
const NAMED = 100;
/** A request that has not ended in this time will not end: it may be made again. */
const GIVEN_UP_MS = 60_000;

/**
 * Runs an action once per request_id, and writes down who did it before it begins and what came of it afterwards. A
 * process that crashes in between leaves a record without a result, and the request may be sent again a minute later:
 * all actions can be repeated without harm.
 * @throws Problem idempotency-key-reused, request-in-progress, or what the action throws
 */
export async function audited<A>(
  action: AuditedAction,
  deps: AuditDeps,
  run: () => Promise<Outcome<A>>,
): Promise<Decided<A>> {
  const { audit, clock } = deps;
  const { request_id, fingerprint } = action;
  const begun_at = clock().toISOString();
  const known = await audit.begin(request_id, { begun_at, fingerprint });
  if (known !== undefined) {
    const earlier = readAnswer<A>(known, action, begun_at);
    if (earlier !== undefined) return { answer: earlier.answer, repeated: true };
    if (!(await audit.takeOver(request_id, known, begun_at))) throw inProgress();
  }
  let outcome: Outcome<A>;
  try {
    outcome = await recorded(action, deps, run);
  } catch (error) {
    await audit.release(request_id, begun_at).catch(deps.onUnwritten);
    throw error;
  }
  const { answer, stored } = outcome;
  // What took effect is answered, even if the request could be sent again a minute later.
  await audit.answer(request_id, JSON.stringify(stored ?? answer)).catch(deps.onUnwritten);
  return { answer, repeated: false };
}

/**
 * Writes down who does what before it begins, so that what cannot be written is not done, and what came of it. A result
 * that cannot be written stays open in the log: it neither hides nor undoes what took effect.
 */
export async function recorded<A>(
  action: AskedAction,
  deps: AuditDeps,
  run: () => Promise<Outcome<A>>,
): Promise<Outcome<A>> {
  const { who, role, what, on, request_id, details } = action;
  const record = {
    audit_id: deps.newId(),
    at: deps.clock().toISOString(),
    who,
    role,
    what,
    on: on.slice(0, NAMED),
    targets: on.length,
    request_id,
    ...(details !== undefined && { details: JSON.stringify(details) }),
  };
  const ended = (result: AuditRecord['result'] & object) => note({ ...record, result }, deps).catch(deps.onUnwritten);
  await note(record, deps);
  let outcome: Outcome<A>;
  try {
    outcome = await run();
  } catch (error) {
    await ended({ [error instanceof Problem ? 'refused' : 'failed']: 1 });
    throw error;
  }
  await ended(outcome.result);
  return outcome;
}

async function note(record: AuditRecord, { audit, onRecord }: AuditDeps): Promise<void> {
  await audit.write(record);
  onRecord(record);
}

function readAnswer<A>(
  { begun_at, fingerprint, answer }: KnownRequest,
  action: AuditedAction,
  now: string,
): { readonly answer: A } | undefined {
  if (fingerprint !== action.fingerprint) {
    throw new Problem('idempotency-key-reused', 'This request_id was used for another request: make a new one.');
  }
  // Written by audited, for the same action.
  if (answer !== undefined) return { answer: JSON.parse(answer) as A };
  if (epochMs(begun_at) + GIVEN_UP_MS > epochMs(now)) throw inProgress();
  return undefined;
}

function inProgress(): Problem {
  return new Problem('request-in-progress', 'The same request is in progress: look at its result in a while.');
}

export function tally(results: readonly { readonly result: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { result } of results) counts[result] = (counts[result] ?? 0) + 1;
  return counts;
}
