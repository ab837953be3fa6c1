import { changeUntil } from '../../model/changes.ts';
import { defined } from '../../model/collections.ts';
import { Problem } from '../../model/problem.ts';
import type { Clock } from '../../model/time.ts';
import { missingIdentification } from '../model/email.ts';
import { type JobLimits, sliceOf } from '../model/job-limits.ts';
import type { Renderings } from '../model/provider.ts';
import { renderingKey } from '../preparation/open-batches.ts';
import type { CandidateReader, PartSegment, PartSegments } from '../preparation/ports.ts';
import { addOne, neededUses, type Tally, take, whyNotSent } from '../preparation/tally.ts';
import { clippedByGmail } from './gmail-limit.ts';
import { newEmail, type Publication } from './publish.ts';

/** Whom an email would go to, and why not to others, if it were sent now. Nothing is stored and nobody is sent to. */
export type DryRun = ReturnType<typeof resultOf>;

/** How far a dry run has come; candidates count as recipients, the excluded ones included. */
export interface DryRunProgress extends Readonly<Tally> {
  /** Place in the order of members. */
  readonly after?: string;
  /** Members that were looked at. */
  readonly members: number;
  /** By rendering; those of more than MOST_RENDERINGS are not told apart. */
  readonly shown: Readonly<Record<string, number>>;
}

export interface DryRunDeps {
  readonly candidates: Pick<CandidateReader, 'pages'>;
  readonly parts: PartSegments;
  readonly renderings: Renderings;
  readonly clock: Clock;
  readonly limits: JobLimits;
}

/** Twenty parts make a million renderings: what is kept of a dry run is one item of at most 400 KB, with the post. */
const MOST_RENDERINGS = 1_000;
/** Characters of the segments that an answer lists. */
const MOST_LISTED = 50_000;

const NOTHING: DryRunProgress = {
  members: 0,
  recipients: 0,
  excluded: 0,
  excluded_by_reason: {},
  missing_fields: {},
  shown: {},
};

/** The preparation's pass without its writes, from where a part stopped. @param goesOn asked after each page */
export async function dryRun(
  publication: Publication,
  deps: DryRunDeps,
  goesOn: (progress: DryRunProgress) => boolean,
  from: DryRunProgress = NOTHING,
): Promise<{ readonly result: DryRun } | { readonly progress: DryRunProgress }> {
  const { content } = publication;
  const email = newEmail(publication, deps);
  const parts = await deps.parts.of(email, content);
  const uses = neededUses(content);
  const sum = { ...structuredClone(from), shown: { ...from.shown } as Record<string, number> };
  let kinds = Object.keys(sum.shown).length;
  for await (const { position, members, candidates } of deps.candidates.pages(email, from.after, parts)) {
    for (const candidate of candidates) {
      take(candidate, sum, uses);
      if (candidate.excluded !== undefined) continue;
      const rendering = String(renderingKey(parts, candidate.member).rendering);
      // Those that are left out are the recipients who are in no count.
      if (rendering in sum.shown || kinds++ < MOST_RENDERINGS) addOne(sum.shown, rendering);
    }
    sum.members += members;
    sum.after = position;
    if (!goesOn(sum)) return { progress: sum };
  }
  const clipped = await clippedByGmail(email, content, sum.shown, deps.renderings);
  const warnings = [missingIdentification(content.newsletter), clipped].filter((warning) => warning !== undefined);
  return { result: resultOf(sum, parts, { error: whyNotSent(sum, uses), warnings }) };
}

interface Remarks {
  /** Why it would not be sent at all. */
  readonly error: string | undefined;
  /** What would be sent, but not as it is meant, or not as the law has it. */
  readonly warnings: readonly string[];
}

/** Renderings are named by the segments of the parts that are shown. */
function resultOf(sum: DryRunProgress, parts: readonly PartSegment[], { error, warnings }: Remarks) {
  const { recipients, excluded, excluded_by_reason, missing_fields, shown } = sum;
  const all = Object.entries(shown).map(([rendering, number]) => ({
    segments: parts.flatMap(({ segment }, i) => ((Number(rendering) & (1 << i)) === 0 ? [] : [segment])),
    recipients: number,
  }));
  all.sort((a, b) => b.recipients - a.recipients);
  let room = MOST_LISTED;
  const renderings = all.filter((one) => {
    room -= JSON.stringify(one).length;
    return room >= 0;
  });
  const others = renderings.reduce((rest, one) => rest - one.recipients, recipients - excluded);
  return defined({
    recipients: recipients - excluded,
    excluded,
    excluded_by_reason,
    renderings,
    missing_fields,
    error,
    warnings: warnings.length > 0 ? warnings : undefined,
    other_recipients: others > 0 ? others : undefined,
  });
}

/** A dry run of many members: its request until it is done, then its result; kept for a day. */
export interface KeptDryRun {
  readonly email_id: string;
  readonly tenant_id: string;
  readonly started_at: string;
  /** Absent when it is done. */
  readonly publication?: Publication;
  readonly progress: DryRunProgress;
  readonly result?: DryRun;
  /** When its last message was queued; absent: it could not be. */
  readonly queued_at?: string;
  /** Another one with each write; set by storage. */
  readonly version?: string;
}

export interface DryRunStore {
  /** Replaces what was read of the same id, undefined for nothing. False where somebody else was faster. */
  put(run: KeptDryRun, was: KeptDryRun | undefined): Promise<boolean>;
  read(email_id: string): Promise<KeptDryRun | undefined>;
}

/** Members after which a request does not wait for the end. */
const MOST_MEMBERS = 20_000;
/** Milliseconds after which it does not, either: an answer comes within ten seconds. */
const MOST_MS = 5_000;
/** After this, longer than an invocation, a message has done its work or is lost. */
const QUEUED_MS = 20 * 60_000;

export interface RequestDryRunDeps extends DryRunDeps {
  readonly dry_runs: DryRunStore;
  readonly queues: { prepare(message: { version: 1; kind: 'dry-run'; email_id: string }): Promise<void> };
}

/** A dry run at once, or one that goes on in the background where there are many members. */
export async function requestDryRun(publication: Publication, deps: RequestDryRunDeps): Promise<KeptDryRun> {
  const { email_id, tenant_id } = publication;
  const started = deps.clock();
  const kept = { email_id, tenant_id, started_at: started.toISOString() };
  const goesOn = ({ members }: DryRunProgress) =>
    members <= MOST_MEMBERS && deps.clock().getTime() - started.getTime() < MOST_MS;
  const part = await dryRun(publication, deps, goesOn);
  if ('result' in part) return { ...kept, progress: NOTHING, result: part.result };
  const run: KeptDryRun = { ...kept, publication, progress: part.progress };
  const read = async () => {
    const stored = await deps.dry_runs.read(email_id);
    // Another request under this key may have been faster: then its answer is the answer.
    return { stored, known: stored?.publication === undefined ? run : stored };
  };
  const queuedNow = ({ known }: { readonly known: KeptDryRun }) => {
    if (known.publication?.request_hash !== publication.request_hash) {
      throw new Problem(
        'idempotency-key-reused',
        'A dry run of another email is in progress under this Idempotency-Key. Use a new key for each email.',
      );
    }
    const isQueued = known.queued_at !== undefined && started.getTime() - Date.parse(known.queued_at) < QUEUED_MS;
    return isQueued ? undefined : { ...known, queued_at: started.toISOString() };
  };
  const { row, plan } = await changeUntil(read, queuedNow, ({ stored }, next) => deps.dry_runs.put(next, stored));
  if (plan === undefined) return row.known;
  await queue(email_id, deps);
  return plan;
}

/** Where it fails, the next request under the key does it. */
async function queue(email_id: string, { queues, dry_runs }: RequestDryRunDeps): Promise<void> {
  try {
    await queues.prepare({ version: 1, kind: 'dry-run', email_id });
  } catch (error) {
    const run = await dry_runs.read(email_id);
    if (run?.publication === undefined) throw error;
    const { queued_at: _, ...rest } = run;
    await dry_runs.put(rest, run);
    throw error;
  }
}

/**
 * Goes on with a dry run that a request did not wait for. Of a message that comes twice, one goes on; one whose next
 * message cannot be queued fails, and comes again.
 */
export async function continueDryRun(
  email_id: string,
  deps: RequestDryRunDeps & { readonly remaining_ms: () => number },
): Promise<KeptDryRun | undefined> {
  const run = await deps.dry_runs.read(email_id);
  if (run?.publication === undefined) return run;
  const { publication, queued_at: _, ...rest } = run;
  const part = await dryRun(publication, deps, sliceOf(deps), run.progress);
  const next =
    'result' in part
      ? { ...rest, result: part.result }
      : { ...run, progress: part.progress, queued_at: deps.clock().toISOString() };
  if (!(await deps.dry_runs.put(next, run))) {
    const faster = await deps.dry_runs.read(email_id);
    // Who was faster goes on, unless it was a request that knows of no message.
    if (faster?.publication !== undefined && faster.queued_at === undefined) await queue(email_id, deps);
    return faster;
  }
  if (!('result' in part)) await deps.queues.prepare({ version: 1, kind: 'dry-run', email_id });
  return next;
}

/** What the API and the console show of it. */
export function shownDryRun({ email_id, progress, result }: KeptDryRun) {
  const shown = { dry_run: true, email_id } as const;
  return result === undefined
    ? { ...shown, status: 'running' as const, members: progress.members }
    : { ...shown, status: 'done' as const, ...result };
}
