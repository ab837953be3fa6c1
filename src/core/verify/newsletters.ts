import { isGone } from '../model/history-index.ts';
import {
  batchFaults,
  emailFaults,
  NO_SUMS,
  plus,
  type Recounted,
  recountOf,
  type Sums,
  sumsOf,
} from './rules/newsletter-sums.ts';
import { type Fault, fault, type Stored, textOf } from './rules/row-rules.ts';
import { isAskedFor, type Run, suspect } from './verification.ts';

/** What the recipients of an email add up to, and what does not. */
interface RecountedEmail {
  readonly faults: readonly Fault[];
  /** Undefined: its recipients are not frozen yet. */
  readonly sums?: Sums;
}

/** Recounts every newsletter's recipients from its chunks. A stage without newsletters has none. */
export async function verifyNewsletters(run: Run): Promise<void> {
  const { state, deps, pace } = run;
  const { newsletters } = deps.ports;
  for (let more = newsletters !== undefined; more && !deps.isStopping(); ) {
    const page = await (newsletters as NonNullable<typeof newsletters>).page(state.after);
    const own = page.items.filter((email) => isAskedFor(state.asked, email, textOf(email['created_at']) || undefined));
    const counts: (() => void)[] = [];
    for (const { email_id } of own) {
      const email = await verifyEmail(String(email_id), run);
      // A process that is stopped here recounts the page.
      if (deps.isStopping()) return;
      const isWrong = email !== undefined && email.faults.length > 0;
      counts.push(() => (isWrong ? suspect(run, 'email', String(email_id)) : recountEmail(email, run)));
    }
    for (const count of counts) count();
    state.after = page.next ?? null;
    more = page.next !== undefined;
    if (!more) state.cursors.fill('end');
    await deps.onProgress?.(state);
    await pace.spend(state, page);
  }
}

export function recountEmail(email: RecountedEmail | undefined, { state }: Run): void {
  if (email === undefined) return;
  const { sums } = email;
  state.emails += 1;
  if (sums !== undefined) state.recipients = plus(state.recipients, sums);
}

/** @returns undefined: it is gone */
export async function verifyEmail(email_id: string, run: Run): Promise<RecountedEmail | undefined> {
  const { newsletters } = run.deps.ports;
  if (newsletters === undefined) return undefined;
  const read = await newsletters.read(email_id);
  await run.pace.spend(run.state, read);
  const [email] = read.items;
  // Of one that has expired DynamoDB deletes batches and chunks in any order, within days.
  if (email === undefined || isGone(email, run.deps.clock())) return undefined;
  if (email['prepared'] === undefined) return { faults: emailFaults(email, [], NO_SUMS) };
  const batches = await newsletters.batches(email_id);
  await run.pace.spend(run.state, batches);
  let sums = NO_SUMS;
  const faults: Fault[] = [];
  for (const batch of batches.items) {
    const recounted = await recount(email_id, batch, run);
    const batch_id = String(batch['batch_id']);
    faults.push(...batchFaults(recounted).map(({ rule, says }) => fault(rule, `batch ${batch_id}: ${says}`)));
    sums = plus(sums, recountOf(recounted));
  }
  return { faults: [...emailFaults(email, batches.items, sums), ...faults], sums };
}

async function recount(email_id: string, batch: Stored, { state, deps, pace }: Run): Promise<Recounted> {
  const chunks = new Map<number, Sums | undefined>();
  const pages = deps.ports.newsletters?.chunks(email_id, String(batch['batch_id'])) ?? [];
  for await (const page of pages) {
    for (const { chunk, states } of page.items) chunks.set(Number(chunk), sumsOf(textOf(states)));
    await pace.spend(state, page);
  }
  return { batch, chunks };
}
