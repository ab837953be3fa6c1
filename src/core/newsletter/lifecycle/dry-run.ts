import { Problem } from '../../model/problem.ts';
import type { Clock } from '../../model/time.ts';
import type { JobLimits } from '../model/job-limits.ts';
import { mergeUses, missingFields } from '../model/merge-fields.ts';
import { renderingKey } from '../preparation/open-batches.ts';
import type { CandidateReader, PartSegments } from '../preparation/ports.ts';
import { refusalOf } from '../preparation/refusal.ts';
import { newEmail, type Publication } from './publish.ts';

/** Whom an email would go to, and why not to others, if it were sent now. Nothing is stored and nobody is sent to. */
export interface DryRun {
  /** Who would get a mail. */
  readonly recipients: number;
  readonly excluded: number;
  readonly excluded_by_reason: Readonly<Record<string, number>>;
  /** What they would get: the segments of the parts that are shown, and to how many. */
  readonly renderings: readonly { readonly segments: readonly string[]; readonly recipients: number }[];
  /** Recipients without a value, by merge field without a fallback. */
  readonly missing_fields: Readonly<Record<string, number>>;
  /** Why it would not be sent at all, and what is right. */
  readonly error?: string;
}

/** How far a dry run has come. */
export interface DryRunProgress {
  /** Place in the order of members. */
  readonly after?: string;
  /** Members that were looked at. */
  readonly members: number;
  /** Candidates, the excluded ones included. */
  readonly recipients: number;
  readonly excluded: number;
  readonly excluded_by_reason: Readonly<Record<string, number>>;
  readonly missing_fields: Readonly<Record<string, number>>;
  /** By rendering. */
  readonly shown: Readonly<Record<string, number>>;
}

export interface DryRunDeps {
  readonly candidates: Pick<CandidateReader, 'pages'>;
  readonly parts: PartSegments;
  readonly clock: Clock;
  readonly limits: JobLimits;
}

const NOTHING: DryRunProgress = {
  members: 0,
  recipients: 0,
  excluded: 0,
  excluded_by_reason: {},
  missing_fields: {},
  shown: {},
};

const count = (counts: Record<string, number>, name: string) => {
  counts[name] = (counts[name] ?? 0) + 1;
};

/**
 * The pass of the preparation without its writes, from where an earlier part of it stopped.
 * @param goesOn asked after each page
 */
export async function dryRun(
  publication: Publication,
  deps: DryRunDeps,
  goesOn: (progress: DryRunProgress) => boolean,
  from: DryRunProgress = NOTHING,
): Promise<{ readonly result: DryRun } | { readonly progress: DryRunProgress }> {
  const { content } = publication;
  const email = newEmail(publication, deps);
  const parts = await deps.parts.of(email, content);
  const uses = mergeUses(content.subject, content.body).filter(({ fallback }) => fallback === undefined);
  const sum = structuredClone(from) as { -readonly [K in keyof DryRunProgress]: DryRunProgress[K] };
  const excluded: Record<string, number> = { ...from.excluded_by_reason };
  const missing: Record<string, number> = { ...from.missing_fields };
  const shown: Record<string, number> = { ...from.shown };
  const progress = (): DryRunProgress => ({ ...sum, excluded_by_reason: excluded, missing_fields: missing, shown });
  for await (const { position, members, candidates } of deps.candidates.pages(email, from.after)) {
    for (const { member, identity, excluded: reason } of candidates) {
      sum.recipients += 1;
      if (reason !== undefined) {
        sum.excluded += 1;
        count(excluded, reason);
        continue;
      }
      const { member_id, member_uuid } = member;
      const { email: member_email, name: member_name } = identity;
      const recipient = { member_id, member_uuid, member_email, ...(member_name !== undefined && { member_name }) };
      for (const field of missingFields(uses, recipient)) count(missing, field);
      count(shown, String(renderingKey(parts, member).rendering));
    }
    sum.members += members;
    sum.after = position;
    if (!goesOn(progress())) return { progress: progress() };
  }
  const error = refusalOf(progress(), uses);
  const renderings = Object.entries(shown).map(([rendering, recipients]) => ({
    segments: parts.flatMap(({ segment }, i) => ((Number(rendering) & (1 << i)) === 0 ? [] : [segment])),
    recipients,
  }));
  return {
    result: {
      recipients: sum.recipients - sum.excluded,
      excluded: sum.excluded,
      excluded_by_reason: excluded,
      renderings: renderings.sort((a, b) => b.recipients - a.recipients),
      missing_fields: missing,
      ...(error !== undefined && { error }),
    },
  };
}

/** A dry run of many members: its request until it is done, then its result; kept for a day. */
export interface KeptDryRun {
  /** The id that the email would have. */
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
  for (;;) {
    const earlier = await deps.dry_runs.read(email_id);
    const goesOnNow = earlier?.publication === undefined ? undefined : earlier;
    if (goesOnNow !== undefined && goesOnNow.publication?.request_hash !== publication.request_hash) {
      throw new Problem(
        'idempotency-key-reused',
        'A dry run of another email goes on under this Idempotency-Key. Use a new key for each email.',
      );
    }
    if (goesOnNow?.queued_at !== undefined && started.getTime() - Date.parse(goesOnNow.queued_at) < QUEUED_MS) {
      return goesOnNow;
    }
    const next = { ...(goesOnNow ?? run), queued_at: started.toISOString() };
    // Another request under this key may have been faster: then its answer is the answer.
    if (!(await deps.dry_runs.put(next, earlier))) continue;
    await queue(email_id, deps);
    return next;
  }
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

/** From then on no new page is begun. */
const STOP_MS = 60_000;

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
  const part = await dryRun(publication, deps, () => deps.remaining_ms() >= STOP_MS, run.progress);
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
