import { publishEmail } from '../../src/core/newsletter/lifecycle/publish.ts';
import type { EmailContent } from '../../src/core/newsletter/model/email.ts';
import { shownState } from '../../src/core/newsletter/model/recipient-state.ts';
import { START } from '../engine/start.ts';
import { WorkerProcess } from '../models/worker-process.ts';
import type { NewsletterScenario } from '../scenarios/newsletter-scenario.ts';
import { memberOf, NEWSLETTER, TENANT } from './given-members.ts';
import { type NewsletterFigures, newsletterFigures } from './newsletter-figures.ts';
import { connectFunctions, publishDeps, runClockOnce } from './newsletter-functions.ts';
import { EMAIL_ID, NewsletterWorld } from './newsletter-world.ts';

const MINUTE = 60_000;
/** The quota of a day may hold up the rest of a newsletter; nothing holds it up for longer. */
const HORIZON_MS = 5 * 24 * 60 * MINUTE;

/**
 * Sends one newsletter. @param onProgress told now and then how many recipients have come to their end
 */
export async function runNewsletter(
  scenario: NewsletterScenario,
  seed: number,
  onProgress: (finished: number) => void = () => {},
): Promise<NewsletterFigures> {
  const world = new NewsletterWorld(scenario, seed);
  const sources = connectFunctions(world);
  const { time } = world;
  const clock = new WorkerProcess(time, () => {});
  let over = false;
  const everyMinute = async () => {
    time.at(time.now + MINUTE, () => void everyMinute());
    const isSent = await look(world, onProgress);
    over = (isSent && world.queued === 0) || time.now >= START.getTime() + HORIZON_MS;
    unsubscribe(world);
    await runClockOnce(world, clock);
  };
  time.at(START.getTime(), () => {
    void publishEmail(publication(), publishDeps(world)).then(everyMinute);
  });
  await time.runUntil(() => over);
  await audit(world);
  return newsletterFigures(world, sources);
}

function publication() {
  const at = START.toISOString();
  const newsletter = { tenant_id: TENANT, newsletter_id: NEWSLETTER, name: 'News', from: 'News <news@example.test>' };
  const content: EmailContent = {
    subject: 'secret subject',
    body: 'secret body',
    format: 'text',
    newsletter: { ...newsletter, created_at: at, updated_at: at },
  };
  return { email_id: EMAIL_ID, request_hash: 'hash', tenant_id: TENANT, content };
}

/** What an API's reader sees now. @returns whether the email has come to its end */
async function look(world: NewsletterWorld, onProgress: (finished: number) => void): Promise<boolean> {
  const { email, counts } = await world.view();
  if (email?.prepared !== undefined) {
    world.auditor.read(counts, email.prepared.recipients);
    onProgress(email.prepared.recipients - counts.pending);
    world.samples.push({ at: (world.time.now - START.getTime()) / 1000, counts });
  }
  return email?.status === 'submitted' || email?.status === 'failed';
}

/** Members unsubscribe while mails go out: who did so before the preparation would be no recipient. */
function unsubscribe({ scenario, draw, members, auditor, time, samples }: NewsletterWorld): void {
  if ((samples.at(-1)?.counts.submitted ?? 0) === (samples.at(-2)?.counts.submitted ?? 0)) return;
  for (let i = 0; i < scenario.unsubscribe_per_minute; i++) {
    const member = Math.floor(draw() * members.count);
    members.unsubscribe(member);
    auditor.unsubscribed(member, time.now);
  }
}

async function audit(world: NewsletterWorld): Promise<void> {
  const { auditor, tables } = world;
  const { email, batches, counts } = await world.view();
  for (const { email_id, batch_id, chunks } of batches) {
    for (let chunk = 0; chunk < chunks; chunk++) {
      const key = { email_id, batch_id, chunk };
      const stored = await tables.chunks.readChunk(key);
      const state = await tables.chunks.readState(key);
      stored?.recipients.forEach(({ member_id, member_email }, n) => {
        const shown = shownState(state?.states[n] ?? '');
        auditor.finish(Number(member_id.slice(1)), memberOf(member_email), shown, state?.reasons[n]);
      });
    }
  }
  auditor.end(email?.status ?? 'missing', counts);
}
