import { expect, it } from 'vitest';
import { parseSegment } from '../../src/adapters/nql/parse-segment.ts';
import { EMAIL_ID } from '../../tools/simulation/newsletter/newsletter-world.ts';
import { publish, runClockOnce } from '../../tools/simulation/newsletter/operators.ts';
import { calmWorld } from '../support/newsletter/calm-world.ts';

const MEMBERS = 5_000_000;
const EVERY = 50_000;

it('a segment of a hundred among five million members is prepared in minutes, and goes to each once', async () => {
  const given = (member: number) => ({ kind: 'ok' as const, paid: member % EVERY === 0 });
  // Loads the parser of segments: virtual time waits for no import.
  await parseSegment('status:paid');
  const world = calmWorld(MEMBERS, [], {}, { given, page: 500 });
  let minutes = 0;
  const send = async () => {
    await publish(world, { segment: 'status:paid' });
    for (; minutes < 120; minutes++) {
      await world.time.pause(60_000);
      await runClockOnce(world);
      const { status } = (await world.tables.emails.read(EMAIL_ID)) ?? {};
      if (status === 'submitted' || status === 'failed') break;
    }
  };
  await world.time.run(send());
  const email = await world.tables.emails.read(EMAIL_ID);
  // Each slice of 15 seconds ends its batch: a minute of preparation makes four.
  expect(email).toMatchObject({ status: 'submitted', prepared: { recipients: 100, excluded: 0, batches: 4 } });
  console.log(`${MEMBERS} members: submitted after ${minutes + 1} minutes, ${world.tables.units.read} read units`);
  // Two passes over the members, of which one is a count that nothing waits for.
  expect(minutes).toBeLessThan(30);
}, 600_000);
