import { describe, expect, it } from 'vitest';
import { applyEvents } from '../../../../src/core/newsletter/events/apply-events.ts';
import { prepare } from '../../../../src/core/newsletter/preparation/prepare.ts';
import { allowanceOf, createWarming } from '../../../../src/core/newsletter/warming/domain-warming.ts';
import { createMemoryMembers } from '../../../../tools/simulation/twins/members.ts';
import { createMemoryWarming } from '../../../../tools/simulation/twins/newsletter-items.ts';
import { emailContent } from '../../../support/newsletter/job-rows.ts';
import { candidate, JobWorld } from '../../../support/newsletter/job-world.ts';

const DAY = 86_400_000;
const newsletter = {
  ...emailContent().newsletter,
  sending_domain: 'own.example.com',
  fallback_domain: 'other.example.com',
};

/** An email that is prepared for four members of its own domain, and two of the fallback domain. */
async function preparedWorld() {
  const world = await JobWorld.of({ status: 'submitting', claim_id: 'c' }, { newsletter, body: 'Hello' });
  world.give(Array.from({ length: 6 }, (_, n) => candidate(n)));
  world.allowed = 4;
  const email = await world.tables.emails.change(await world.email(), {
    set: { claim_until: new Date(world.now.getTime() + 120_000).toISOString() },
  });
  if (email === undefined) throw new Error('no claim');
  await prepare(email, world.deps());
  const warming = createWarming(createMemoryWarming(), world.clock);
  await warming.reserve('own.example.com', 4, 'sender');
  await warming.settle('own.example.com', world.now.toISOString().slice(0, 10), { unused: 0, sent: 4 }, 'sender');
  const deps = {
    ...world.deps(),
    members: createMemoryMembers(),
    sealing: { emailHash: async (_: string, email: string) => email },
    warming,
  };
  return { world, warming, deps };
}

const bounced = (batch_id: string) =>
  ({ email_id: 'email-1', batch_id, chunk: 0, n: 0, kinds: ['accepted', 'bounced'], suppress: 'bounced' }) as const;

describe('bounces and complaints of a domain that is warmed', () => {
  it('count for its day, each once, so that its allowance does not grow', async () => {
    const { world, warming, deps } = await preparedWorld();
    await applyEvents('email-1', '00000', [bounced('00000'), bounced('00000')], deps);
    await applyEvents('email-1', '00000', [bounced('00000')], deps);
    world.advance(DAY);
    expect(await warming.left('own.example.com')).toBe(allowanceOf(0));
  });

  it('do not count where the mail went out from the fallback domain', async () => {
    const { world, warming, deps } = await preparedWorld();
    await applyEvents('email-1', '00001', [bounced('00001')], deps);
    world.advance(DAY);
    expect(await warming.left('own.example.com')).toBe(allowanceOf(1));
  });
});
