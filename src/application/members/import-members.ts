import * as v from 'valibot';
import type { LineFault, LineRecord } from '../../adapters/member-files/read-members.ts';
import { groupsOf } from '../../core/model/collections.ts';
import { Problem } from '../../core/model/problem.ts';
import {
  type GivenMember,
  MAX_UPSERTS,
  type UpsertDeps,
  upsertMembers,
} from '../../core/newsletter/members/upsert-members.ts';
import {
  type FileStanding,
  MEMBER_STATUSES,
  type MemberStatus,
  SUPPRESSION_REASONS,
} from '../../core/newsletter/model/member.ts';
import { check } from '../../http/check.ts';
import { moment } from '../contract/api/intake.ts';
import { memberEntries, newsletterId } from '../contract/api/newsletters.ts';

/** A member as a line gives it: without an id, the address identifies the member. */
const lineSchema = v.strictObject({
  ...memberEntries,
  member_id: v.optional(memberEntries.member_id),
  status: v.optional(
    v.picklist(
      MEMBER_STATUSES,
      `must be one of ${MEMBER_STATUSES.join(', ')}; who left is written in unsubscribed (true), who may never get mail in suppressed`,
    ),
  ),
  /** True: from the newsletter of the import, now. */
  unsubscribed: v.optional(
    v.union(
      [v.boolean(), v.record(newsletterId, v.union([moment, v.literal(true)]))],
      'must be true or false (of --newsletter), a time, or newsletters such as weekly or weekly@2026-11-21T09:00:00Z',
    ),
  ),
  /** Without a time: now. */
  suppressed: v.optional(
    v.union(
      [v.boolean(), v.strictObject({ reason: v.picklist(SUPPRESSION_REASONS), at: v.optional(moment) })],
      `must be true, false, or one of ${SUPPRESSION_REASONS.join(', ')}, such as bounced or bounced@2026-11-21T09:00:00Z`,
    ),
  ),
});

/** Newsletters that a fault names. */
const MOST_NAMED = 10;

export interface ImportRules {
  readonly tenant_id: string;
  /** All members subscribe to it; absent: each line says to which. */
  readonly newsletter_id?: string;
  /** Newsletters that lines may name. */
  readonly known: ReadonlySet<string>;
  readonly status?: MemberStatus;
  /** What all members of the file are; `unsubscribed` needs a newsletter. */
  readonly as?: FileStanding;
  readonly labels: readonly string[];
}

/** The members of a window of lines, and what is wrong with the other lines. */
export interface ImportWindow {
  readonly line: number;
  readonly members: readonly GivenMember[];
  /** Who of them has unsubscribed. */
  readonly unsubscribed: number;
  /** Lines that are left out on purpose: who was deleted elsewhere. */
  readonly skipped: number;
  readonly ids: ReadonlySet<string>;
  readonly faults: readonly LineFault[];
}

export async function* checkedWindows(
  windows: AsyncIterable<readonly LineRecord[]>,
  rules: ImportRules,
  deps: Pick<UpsertDeps, 'sealing' | 'clock'>,
): AsyncGenerator<ImportWindow> {
  for await (const records of windows) {
    const read = await Promise.all(records.map((record) => readMember(record, rules, deps)));
    const members = read.flatMap((one) => ('member_id' in one ? [one] : []));
    yield {
      skipped: read.filter((one) => 'skipped' in one).length,
      line: records.at(-1)?.line ?? 0,
      members,
      unsubscribed: members.filter(({ unsubscribed = {} }) => Object.keys(unsubscribed).length > 0).length,
      ids: new Set(members.map(({ member_id }) => member_id)),
      faults: read.flatMap((one) => ('faults' in one ? one.faults : [])),
    };
  }
}

/** Only adds: it takes no label and no subscription away. Lines with one id are stored one after the other. */
export async function storeWindow(
  { members }: ImportWindow,
  { tenant_id }: Pick<ImportRules, 'tenant_id'>,
  deps: UpsertDeps,
): Promise<{ readonly created: number; readonly changed: number }> {
  const result = { created: 0, changed: 0 };
  for (const round of withoutRepeats(members)) {
    const batches = groupsOf(round, MAX_UPSERTS);
    const created = await Promise.all(batches.map((batch) => upsertMembers(tenant_id, batch, deps, { add: true })));
    const fresh = created.reduce((sum, { size }) => sum + size, 0);
    result.created += fresh;
    result.changed += round.length - fresh;
  }
  return result;
}

type ReadMember = GivenMember | { readonly faults: readonly LineFault[] } | { readonly skipped: string };

async function readMember(
  record: LineRecord,
  { tenant_id, newsletter_id, known, status, as, labels }: ImportRules,
  { sealing, clock }: Pick<UpsertDeps, 'sealing' | 'clock'>,
): Promise<ReadMember> {
  if ('skipped' in record) return record;
  if (!('fields' in record)) return { faults: [record] };
  const { line } = record;
  try {
    const given = check(lineSchema, record.fields);
    const now = clock().toISOString();
    if (given.unsubscribed === true && newsletter_id === undefined) {
      const message =
        'must name newsletters with times, or the import needs --newsletter: true does not say from which';
      return { faults: [{ line, column: 'unsubscribed', rule: 'newsletter', message }] };
    }
    const unsubscribed = unsubscribedOf(
      as === 'unsubscribed' ? given.unsubscribed || true : given.unsubscribed,
      newsletter_id,
      now,
    );
    const suppressed = as === 'suppressed' ? given.suppressed || true : given.suppressed;
    const named = { newsletters: given.newsletters ?? [], unsubscribed: Object.keys(unsubscribed) };
    const faults = Object.entries(named)
      .flatMap(([column, ids]) => ids.filter((id) => !known.has(id)).map(() => column))
      .map((column) => ({
        line,
        column,
        rule: 'existing_newsletter',
        message: `must ${column === 'unsubscribed' ? 'be true or false, a time, or ' : ''}name newsletters that exist, such as ${[...known].sort().slice(0, MOST_NAMED).join(', ')}`,
      }));
    if (faults.length > 0) return { faults };
    const { member_id = await sealing.emailHash(tenant_id, given.email), name } = given;
    const chosen = given.status ?? status;
    return {
      member_id,
      email: given.email,
      ...(name !== undefined && { name }),
      ...(chosen && { status: chosen }),
      labels: [...(given.labels ?? []), ...labels],
      newsletters: [...(newsletter_id === undefined ? [] : [newsletter_id]), ...(given.newsletters ?? [])],
      ...(given.created_at !== undefined && { created_at: given.created_at }),
      unsubscribed,
      ...(suppressed && {
        suppressed: suppressed === true ? { reason: 'operator', at: now } : { ...suppressed, at: suppressed.at ?? now },
      }),
    };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const errors = error.extras.errors ?? [];
    return { faults: errors.map(({ path, rule, message }) => ({ line, column: path, rule, message })) };
  }
}

function unsubscribedOf(
  given: boolean | Readonly<Record<string, string | true>> | undefined,
  newsletter_id: string | undefined,
  now: string,
): Readonly<Record<string, string>> {
  if (given === true) return newsletter_id === undefined ? {} : { [newsletter_id]: now };
  return Object.fromEntries(
    Object.entries(given || {}).map(([newsletter, at]) => [newsletter, at === true ? now : at]),
  );
}

/** The members in rounds, each without a repeated id, in order. */
function withoutRepeats(members: readonly GivenMember[]): GivenMember[][] {
  const rounds: GivenMember[][] = [];
  const roundOf = new Map<string, number>();
  for (const member of members) {
    const round = (roundOf.get(member.member_id) ?? -1) + 1;
    roundOf.set(member.member_id, round);
    const started = rounds[round];
    if (started === undefined) rounds.push([member]);
    else started.push(member);
  }
  return rounds;
}

interface Window {
  /** Members of the window. */
  readonly ids: ReadonlySet<string>;
}

/**
 * Stores several windows at once, and yields their results in the order of the file, so that a checkpoint never passes a
 * line that is not stored. A window that shares a member with an earlier one waits for that: the later line counts.
 * Once the caller ends it, no more windows are begun.
 * @throws the first failure, in its turn and after all that was begun has ended
 */
export async function* storedInOrder<W extends Window, R>(
  windows: AsyncIterable<W>,
  store: (window: W) => Promise<R>,
  { at_once, ended }: { readonly at_once: number; readonly ended: AbortSignal },
): AsyncGenerator<readonly [window: W, result: R]> {
  const begun: { readonly window: W; readonly stored: Promise<R> }[] = [];
  const meets = ({ ids }: W) => begun.some(({ window }) => [...ids].some((id) => window.ids.has(id)));
  try {
    for await (const window of windows) {
      if (ended.aborted) break;
      for (let first = begun[0]; first && (begun.length >= at_once || meets(window)); first = begun[0]) {
        yield [first.window, await first.stored];
        begun.shift();
      }
      const stored = store(window);
      // Its failure is thrown in its turn.
      stored.catch(() => {});
      begun.push({ window, stored });
    }
    for (const { window, stored } of begun) yield [window, await stored];
  } finally {
    await Promise.allSettled(begun.map(({ stored }) => stored));
  }
}
