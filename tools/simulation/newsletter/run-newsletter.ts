import { START } from '../engine/virtual-time.ts';
import type { NewsletterScenario } from '../scenarios/newsletter-scenario.ts';
import { newsletterFigures } from './newsletter-figures.ts';
import { connectFunctions } from './newsletter-functions.ts';
import { NewsletterWorld } from './newsletter-world.ts';
import { publish, runClockOnce } from './operators.ts';

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
) {
  const world = new NewsletterWorld(scenario, seed);
  connectFunctions(world);
  const { time } = world;
  let over = false;
  const everyMinute = async () => {
    time.at(time.now + MINUTE, () => void everyMinute());
    const isSent = await look(world, onProgress);
    over = (isSent && world.queued === 0) || time.now >= START.getTime() + HORIZON_MS;
    unsubscribe(world);
    await runClockOnce(world);
  };
  time.at(START.getTime(), () => {
    void publishSurely(world).then(everyMinute);
  });
  await time.runUntil(() => over);
  await world.auditEnd();
  return newsletterFigures(world);
}

/** An operator repeats what failed. */
async function publishSurely(world: NewsletterWorld): Promise<void> {
  do await publish(world);
  while ((await world.view()).email === undefined);
}

/** What an API's reader sees now. @returns whether the email has come to its end */
async function look(world: NewsletterWorld, onProgress: (finished: number) => void): Promise<boolean> {
  const { email, counts } = await world.audit();
  if (email?.prepared !== undefined) {
    onProgress(email.prepared.recipients - counts.pending);
    world.samples.push({ at: (world.time.now - START.getTime()) / 1000, counts });
  }
  return email?.status === 'submitted' || email?.status === 'failed';
}

/** Members unsubscribe while mails go out: who did so before the preparation would be no recipient. */
function unsubscribe(world: NewsletterWorld): void {
  const { scenario, draw, members, samples } = world;
  if ((samples.at(-1)?.counts.submitted ?? 0) === (samples.at(-2)?.counts.submitted ?? 0)) return;
  for (let i = 0; i < scenario.unsubscribe_per_minute; i++) world.unsubscribe(Math.floor(draw() * members.count));
}
