import { BATCH_SIZE } from '../../../../src/core/newsletter/model/batch.ts';
import { CHUNK_SIZE } from '../../../../src/core/newsletter/model/chunk.ts';
import type { Mood } from './provider.ts';
import { type Faults, NewsletterWorld } from './world.ts';

const CALM: Faults = {
  seed: 1,
  death_every: 0,
  failing: 0,
  stalling: 0,
  lost_messages: 0,
  duplicated_messages: 0,
  lost_events: 1,
  outages: [],
  limit_ms: 900_000,
};

/** A world in which nothing breaks but the provider, and what a test breaks, with batches of the real size. */
export function calmWorld(
  members: number,
  moods: readonly (readonly [from_s: number, mood: Mood])[],
  batch_size = BATCH_SIZE,
) {
  const given = Array.from({ length: members }, (_, i) => ({ address: `ok-${i}@example.com`, paid: false }));
  const limits = { batch_size, chunk_size: CHUNK_SIZE, cut_recipients: 100_000 };
  const world = new NewsletterWorld(given, CALM, limits);
  world.healed = true;
  world.provider.moods = moods.map(([from_s, mood]) => ({ from_s, mood }));
  return world;
}

/** Lets minutes pass until the email has ended. */
export async function passMinutes(world: NewsletterWorld, minutes: number, tick = false) {
  for (let minute = 0; minute < minutes; minute++) {
    await world.time.pause(60_000);
    if (tick) await world.tick();
    const { email } = await world.view();
    if (email?.status === 'submitted' || email?.status === 'failed') break;
  }
  const { email, batches } = await world.view();
  if (email === undefined) throw new Error('There is no email.');
  return { email, batches };
}
