import { describe, expect, it } from 'vitest';
import { startEmail } from '../../../../src/core/newsletter/lifecycle/start.ts';
import type { Email } from '../../../../src/core/newsletter/model/email.ts';
import type { BulkAnswer, BulkCall } from '../../../../src/core/newsletter/model/provider.ts';
import { sendBatch } from '../../../../src/core/newsletter/sending/send-batch.ts';
import { allowanceOf, createWarming } from '../../../../src/core/newsletter/warming/domain-warming.ts';
import { createMemoryWarming } from '../../../../tools/simulation/twins/newsletter-items.ts';
import { emailContent } from '../../../support/newsletter/job-rows.ts';
import { candidate, JobWorld } from '../../../support/newsletter/job-world.ts';

const OWN = 'own.example.com';
const DAY = 86_400_000;
const newsletter = { ...emailContent().newsletter, sending_domain: OWN, fallback_domain: 'other.example.com' };

const accept = (call: BulkCall): BulkAnswer => ({
  kind: 'answered',
  entries: call.entries.map(({ to }) => ({ accepted: true, message_id: `id of ${to}` })),
});

/** A mailing that was prepared on the first day of a domain, for as many members. */
async function preparedFor(members: number, at = '2026-03-01T10:00:00.000Z') {
  const world = await JobWorld.of({}, { newsletter }, { batch_size: 1_000, chunk_size: 50 });
  world.now = new Date(at);
  const warming = createWarming(createMemoryWarming(), world.clock);
  const deps = { ...world.deps(), warming };
  world.give(Array.from({ length: members }, (_, n) => candidate(n)));
  world.answer = accept;
  await startEmail('email-1', deps);
  /** Each batch once, in a slot that it gets. */
  const send = async () => {
    for (const { batch_id } of await world.batches()) {
      const email = await world.email();
      const slots: Email['slots'] = { '0': { batch_id, since: world.now.toISOString() } };
      await world.tables.emails.change(email, { set: { slots } });
      await sendBatch({ version: 1, kind: 'batch', email_id: 'email-1', batch_id, slot: '0' }, deps);
    }
  };
  const mails = (domain: string) =>
    world.calls.filter(({ from }) => from.includes(domain)).reduce((sum, { entries }) => sum + entries.length, 0);
  return { world, warming, send, own: () => mails(OWN), other: () => mails('other.example.com') };
}

describe('a mailing from a domain that is warmed', () => {
  it('sends what the day allows from it, and the rest from the fallback', async () => {
    const { send, own, other, warming } = await preparedFor(300);
    await send();
    expect([own(), other()]).toEqual([200, 100]);
    expect(await warming.left(OWN)).toBe(0);
  });

  it('that is sent on another day has what that day allows, less what others have sent', async () => {
    const { world, send, own, other, warming } = await preparedFor(200);
    await warming.reserve(OWN, 200, 'another');
    await warming.settle(OWN, '2026-03-01', { unused: 0, sent: 200 }, 'another');
    world.advance(DAY);
    const allowed = allowanceOf(1) ?? 0;
    await warming.reserve(OWN, 150, 'another');
    await send();
    expect([own(), other()]).toEqual([allowed - 150, 350 - allowed]);
    expect(await warming.left(OWN)).toBe(0);
  });

  it('takes the fallback for what others took of its day since it was prepared', async () => {
    const { send, own, other, warming } = await preparedFor(200);
    await warming.reserve(OWN, 200, 'another');
    await send();
    expect([own(), other()]).toEqual([0, 200]);
  });

  it('gives back what the provider refused, and its day makes nothing grow', async () => {
    const { world, send, warming } = await preparedFor(100);
    const refused = { accepted: false, refusal: { class: 'recipient', reason: 'refused' } } as const;
    world.answer = ({ entries }) => ({ kind: 'answered', entries: entries.map(() => refused) });
    await send();
    expect(await warming.left(OWN)).toBe(200);
    world.advance(DAY);
    expect(await warming.left(OWN)).toBe(200);
  });

  it('counts what may have been accepted, although nobody said so', async () => {
    const { world, send, warming } = await preparedFor(100);
    world.answer = () => ({ kind: 'unknown', error: 'TimeoutError' });
    await send();
    const { counts } = (await world.batches())[0] ?? {};
    expect(await warming.left(OWN)).toBe(200 - (counts?.uncertain ?? 0));
    expect(counts?.uncertain).toBeGreaterThan(0);
  });

  it('makes no call around midnight, and reserves anew for the day that begins', async () => {
    const { world, send, other, warming } = await preparedFor(300, '2026-03-01T23:58:00.000Z');
    const own: { readonly at: string; readonly mails: number }[] = [];
    world.answer = (call) => {
      if (call.from.includes(OWN)) own.push({ at: world.now.toISOString(), mails: call.entries.length });
      world.advance(45_000);
      return accept(call);
    };
    await send();
    world.advance(60_000);
    await send();
    const on = (day: string) => own.filter(({ at }) => at.startsWith(day)).reduce((sum, { mails }) => sum + mails, 0);
    expect(own.filter(({ at }) => at > '2026-03-01T23:59:20' && at < '2026-03-02')).toEqual([]);
    expect([on('2026-03-01'), on('2026-03-02'), other()]).toEqual([100, 100, 100]);
    expect(await warming.left(OWN)).toBe((allowanceOf(1) ?? 0) - 100);
  });

  it('never gives to a sender that goes on what a dead one has reserved', async () => {
    const { send, own, warming } = await preparedFor(200);
    await warming.reserve(OWN, 120, 'died');
    await send();
    expect(own()).toBe(80);
  });
});
