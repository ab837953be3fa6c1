import { isoAfter } from '../../model/time.ts';
import { sentBatches } from '../accounting/counts.ts';
import { batchId, MOST_BATCHES } from '../model/batch.ts';
import {
  type Email,
  type EmailContent,
  missingIdentification,
  type Preparation,
  type Prepared,
} from '../model/email.ts';
import { sliceOf } from '../model/job-limits.ts';
import type { MergeUse } from '../model/merge-fields.ts';
import { hostOf } from '../model/senders.ts';
import { PreparationLease } from './lease.ts';
import { type Commit, excludedBatch, OpenBatches, renderingKey } from './open-batches.ts';
import type { CandidatePage, PartSegment, PrepareDeps, PreparedCandidate } from './ports.ts';
import { neededUses, type Tally, take, whyNotSent } from './tally.ts';

export type PrepareResult =
  | {
      readonly result: 'prepared';
      readonly email: Email;
      /** What the count said, when it is off by 1 % or more (監視: email_count不整合). */
      readonly count_was?: number;
    }
  /** Its slice or the invocation's time ends; the next one goes on from the last cut. */
  | { readonly result: 'continued'; readonly email: Email }
  /** The email cannot be sent as it is: a sentence for people. */
  | { readonly result: 'refused'; readonly email: Email; readonly error: string };

const TOO_MANY =
  'The parts of the post make more than 20,000 batches. Nothing was sent. Use fewer parts with a segment of their own.';

const UNIDENTIFIED =
  'This stage sends none that does not (newsletter.requireAddress). Nothing was sent. Complete the newsletter, and ' +
  'publish the email anew: it keeps what the newsletter was.';

const NOTHING: Preparation = {
  next_batch: 0,
  next_excluded_chunk: 0,
  excluded: 0,
  recipients: 0,
  excluded_by_reason: {},
  own_domain_used: 0,
  missing_fields: {},
};

/**
 * Freezes the recipients of an email whose claim the caller holds (docs/decisions/newsletters/job.md#0100): one pass
 * over its members fills batches and chunks. At a cut everything open is committed and the place is noted on the email;
 * an interrupted pass is repeated from there, with the same numbers. Nothing is sent before the last batch is
 * committed.
 * @throws LeaseLostError when another invocation took over
 */
export async function prepare(email: Email, deps: PrepareDeps): Promise<PrepareResult> {
  const goesOn = sliceOf(deps);
  const lease = new PreparationLease(email, deps);
  deps.log.info(`Creating batches for email ${email.email_id}`, { email_id: email.email_id });
  const content = await lease.read('read the content', () => deps.emails.content(email.email_id));
  if (content === undefined) throw new Error(`The email ${email.email_id} has no content.`);
  // It may have been published, for later, before the stage asked for it.
  const missing = deps.require_address === true ? missingIdentification(content.newsletter) : undefined;
  if (missing !== undefined) return { result: 'refused', email: lease.email, error: `${missing} ${UNIDENTIFIED}` };
  const parts = await deps.parts.of(email, content);
  const pass = new PreparationPass(lease, content, parts, deps);
  await pass.begin();
  for await (const page of deps.candidates.pages(email, lease.email.preparation?.after, parts)) {
    await pass.take(page);
    await lease.keep();
    if (pass.hasTooMany) break;
    if (!goesOn()) {
      await pass.cut();
      const next_at = isoAfter(deps.clock(), deps.limits.message_ms);
      const left = await lease.change({ set: { next_at }, remove: ['claim_id', 'claim_until'] });
      return { result: 'continued', email: left };
    }
    if (pass.uncut >= deps.limits.cut_recipients) await pass.cut();
  }
  return pass.end();
}

/** Preparation while it is counted. */
type Progress = { -readonly [K in keyof Preparation]: Preparation[K] } & Tally;

class PreparationPass {
  uncut = 0;
  readonly #lease: PreparationLease;
  /** The sending domain, if it is one that can be warmed. */
  readonly #warmed: string | undefined;
  readonly #parts: readonly PartSegment[];
  readonly #uses: readonly MergeUse[];
  readonly #deps: PrepareDeps;
  #open: OpenBatches;
  #progress: Progress;

  constructor(lease: PreparationLease, content: EmailContent, parts: readonly PartSegment[], deps: PrepareDeps) {
    this.#lease = lease;
    this.#warmed = warmedDomain(content);
    this.#parts = parts;
    this.#uses = neededUses(content);
    this.#deps = deps;
    this.#progress = structuredClone(lease.email.preparation ?? NOTHING);
    this.#open = new OpenBatches(lease.email, this.#progress, deps.limits, () => deps.clock().toISOString());
  }

  /** Each combination of parts makes a batch at least: an id beyond the last one would sort among the first. */
  get hasTooMany(): boolean {
    return this.#open.numbers.next_batch > MOST_BATCHES;
  }

  /** Plans with what warming leaves of the day, and notes it before anything is decided by it. Senders reserve. */
  async begin(): Promise<void> {
    const domain = this.#warmed;
    if (this.#lease.email.preparation !== undefined || domain === undefined) return;
    const left = await this.#lease.read('read the warming allowance', () => this.#deps.warming.left(domain));
    if (left === undefined) return;
    this.#progress.own_domain_allowed = left;
    await this.#lease.change({ set: { preparation: structuredClone(this.#progress) } });
  }

  async take({ position, candidates }: CandidatePage): Promise<void> {
    for (const candidate of candidates) {
      const commit = this.#add(candidate);
      if (commit === undefined) continue;
      if (this.hasTooMany) return;
      await this.#write(commit);
    }
    this.#progress.after = position;
    this.uncut += candidates.length;
  }

  async cut(): Promise<void> {
    for (const commit of this.#open.flush()) await this.#write(commit);
    Object.assign(this.#progress, this.#open.numbers);
    await this.#lease.change({ set: { preparation: structuredClone(this.#progress) } });
    this.uncut = 0;
  }

  async end(): Promise<PrepareResult> {
    if (!this.hasTooMany) for (const commit of this.#open.flush()) await this.#write(commit);
    const progress = { ...this.#progress, ...this.#open.numbers };
    const { clock, batches } = this.#deps;
    const { email_id, email_count } = this.#lease.email;
    const refused = this.hasTooMany ? TOO_MANY : whyNotSent(progress, this.#uses);
    if (refused !== undefined) return { result: 'refused', email: this.#lease.email, error: refused };
    const at = clock().toISOString();
    if (progress.excluded > 0) {
      await this.#lease.write('write the excluded recipients', () =>
        batches.put(excludedBatch(this.#lease.email, progress, at)),
      );
    }
    await this.#removeLeftovers(progress);
    const { recipients, excluded, excluded_by_reason, next_batch } = progress;
    const prepared: Prepared = { recipients, excluded, excluded_by_reason, batches: next_batch, at };
    const found = recipients - excluded;
    const email = await this.#lease.change({
      set: { prepared, email_count: found, next_at: at },
      remove: ['preparation', 'claim_id', 'claim_until'],
    });
    const off = email_count !== undefined && isOff(found, email_count);
    if (off) {
      this.#deps.log.warn(
        `The number of recipients of email ${email_id} is off by 1 % or more: ${email_count} were counted, ${found} were prepared`,
        { email_id },
      );
    }
    return { result: 'prepared', email, ...(off && { count_was: email_count }) };
  }

  #add(candidate: PreparedCandidate): Commit | undefined {
    const { member, excluded } = candidate;
    const progress = this.#progress;
    const recipient = take(candidate, progress, this.#uses);
    if (excluded !== undefined) return this.#open.exclude(recipient, excluded);
    const { own_domain_allowed } = progress;
    const own = progress.own_domain_used < (own_domain_allowed ?? Number.POSITIVE_INFINITY);
    const warmed_domain = own && own_domain_allowed !== undefined ? this.#warmed : undefined;
    if (own) progress.own_domain_used += 1;
    return this.#open.add(recipient, {
      ...renderingKey(this.#parts, member),
      fallback_sending_domain: !own,
      ...(warmed_domain !== undefined && { warmed_domain }),
    });
  }

  async #write({ chunks, batch }: Commit): Promise<void> {
    await this.#lease.write('write the chunks of a batch', () => this.#deps.chunks.put(chunks));
    // The commit mark: chunks without a row do not exist.
    if (batch !== undefined) await this.#lease.write('write a batch', () => this.#deps.batches.put(batch));
  }

  /** An earlier preparation that found other members may have gone further. */
  async #removeLeftovers({ next_batch, excluded }: Preparation): Promise<void> {
    const { batches } = this.#deps;
    const { email_id } = this.#lease.email;
    const all = await this.#lease.read('list the batches', () => batches.list(email_id));
    const known = sentBatches(all);
    const left = known.filter(({ batch_id }) => batch_id >= batchId(next_batch));
    const stale = excluded === 0 ? all.filter((batch) => !known.includes(batch)) : [];
    const ids = [...left, ...stale].map(({ batch_id }) => batch_id);
    if (ids.length > 0) await this.#lease.write('remove leftover batches', () => batches.remove(email_id, ids));
  }
}

/** 1 % or more (監視・アラート: email_count不整合). */
function isOff(found: number, counted: number): boolean {
  return found !== counted && Math.abs(found - counted) >= counted / 100;
}

/** Only a newsletter with a fallback domain can be warmed: the others have nowhere else to go. */
function warmedDomain({ newsletter }: EmailContent): string | undefined {
  if (newsletter.fallback_domain === undefined) return undefined;
  const { sending_domain = newsletter.from.match(/@([^@>\s]+)>?\s*$/)?.[1] } = newsletter;
  // As it is compared: two ways to write a domain would double its allowance.
  return sending_domain && (hostOf(sending_domain) ?? sending_domain);
}
