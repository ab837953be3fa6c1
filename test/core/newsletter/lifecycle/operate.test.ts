import { describe, expect, it } from 'vitest';
import { cancelEmail, pauseEmail, resumeEmail, retryEmail } from '../../../../src/core/newsletter/lifecycle/operate.ts';
import { type Publication, publishEmail, replaceEmail } from '../../../../src/core/newsletter/lifecycle/publish.ts';
import { resolveEmail } from '../../../../src/core/newsletter/lifecycle/resolve.ts';
import { startEmail } from '../../../../src/core/newsletter/lifecycle/start.ts';
import type { EmailStatus } from '../../../../src/core/newsletter/model/email.ts';
import { batchFor, chunkOf, chunkState, emailContent } from '../../../support/newsletter/job-rows.ts';
import { candidate, JobWorld } from '../../../support/newsletter/job-world.ts';

const PREPARED = { recipients: 4, excluded: 0, excluded_by_reason: {}, batches: 1, at: '2026-03-01T09:00:00.000Z' };
const COMMANDS = { paused: pauseEmail, resumed: resumeEmail, cancelled: cancelEmail, retried: retryEmail };

function publication(changes: Partial<Publication> = {}): Publication {
  return { email_id: 'email-1', request_hash: 'hash', tenant_id: 'tenant-1', content: emailContent(), ...changes };
}

describe('the links of a mailing that rested for a year', () => {
  const YEAR_S = 365 * 86_400;

  it.each([
    ['is resumed', { status: 'submitting', paused: true }],
    ['is begun', { status: 'pending' }],
    ['is retried', { status: 'failed' }],
  ] as const)('are valid for two years from when it %s', async (_, state) => {
    const prepared = state.status === 'pending' ? {} : { prepared: PREPARED };
    const world = await JobWorld.of({ ...state, ...prepared });
    const now_s = world.now.getTime() / 1_000;
    const row = await world.email();
    await world.tables.emails.change(row, { set: { expires_at: now_s + YEAR_S } });
    if (state.status === 'submitting') await resumeEmail('email-1', world.deps());
    else if (state.status === 'failed') await retryEmail('email-1', world.deps());
    else await startEmail('email-1', world.deps());
    expect((await world.email()).expires_at).toBe(now_s + 2 * YEAR_S);
  });
});

describe('the publication of an email', () => {
  it('stores it, and has it counted and started', async () => {
    const world = new JobWorld();
    const email = await publishEmail(publication({ segment: 'status:paid' }), world.deps());
    expect(email).toMatchObject({ status: 'pending', segment: 'status:paid', newsletter_id: 'news' });
    expect(await world.email()).toEqual(email);
    expect(world.prepares.map(({ kind }) => kind)).toEqual(['count', 'start']);
    // The clock starts it where the message is lost.
    expect(Date.parse(email.next_at ?? '') - world.now.getTime()).toBe(world.limits.first_message_ms);
  });

  it('schedules it for its time', async () => {
    const world = new JobWorld();
    const scheduled_at = '2026-03-02T08:00:00.000Z';
    expect(await publishEmail(publication({ scheduled_at }), world.deps())).toMatchObject({ next_at: scheduled_at });
    expect(world.schedules).toEqual([['email-1', scheduled_at]]);
    expect(world.prepares.map(({ kind }) => kind)).toEqual(['count']);
    expect(await startEmail('email-1', world.deps())).toMatchObject({
      result: 'skipped',
      reason: `The email is scheduled for ${scheduled_at}.`,
    });
  });

  it('is not started when it is postponed between the read and the lock of its start', async () => {
    const world = new JobWorld();
    world.give([candidate(0)]);
    const published = await publishEmail(publication(), world.deps());
    const scheduled_at = '2026-03-02T08:00:00.000Z';
    const { emails, ...deps } = world.deps();
    let isReplaced = false;
    const change: typeof emails.change = async (...asked) => {
      if (!isReplaced) {
        isReplaced = true;
        world.advance(1);
        await replaceEmail(published, publication({ scheduled_at }), world.deps());
      }
      return emails.change(...asked);
    };
    const racing = new Proxy(emails, { get: (of, name) => (name === 'change' ? change : Reflect.get(of, name)) });
    expect(await startEmail('email-1', { ...deps, emails: racing })).toMatchObject({ result: 'skipped' });
    expect(await world.email()).toMatchObject({ status: 'pending', scheduled_at });
    expect(world.sends).toEqual([]);
    expect(world.schedules.at(-1)).toEqual(['email-1', scheduled_at]);
  });

  it('answers a repeated request alike, and refuses another one with the same key', async () => {
    const world = new JobWorld();
    const first = await publishEmail(publication(), world.deps());
    world.advance(1_000);
    expect(await publishEmail(publication(), world.deps())).toEqual(first);
    await expect(publishEmail(publication({ request_hash: 'other' }), world.deps())).rejects.toMatchObject({
      problem: 'idempotency-key-reused',
    });
  });

  it('refuses a merge field that does not exist, and stores nothing', async () => {
    const world = new JobWorld();
    const content = emailContent({ body: '{nmae} {{literal}} {name}' });
    await expect(publishEmail(publication({ content }), world.deps())).rejects.toMatchObject({
      problem: 'invalid-request',
      message: expect.stringMatching(/^{nmae} is no merge field\. The fields are {name}, /),
      extras: { errors: [{ path: 'body', rule: 'merge-field', message: expect.stringContaining('{nmae}') }] },
    });
    expect(await world.tables.emails.read('email-1')).toBeUndefined();
    expect(world.prepares).toEqual([]);
  });
});

describe("an operator's command", () => {
  const right: readonly [keyof typeof COMMANDS, readonly EmailStatus[]][] = [
    ['paused', ['pending', 'submitting']],
    ['resumed', ['pending', 'submitting']],
    ['cancelled', ['pending', 'submitting', 'failed', 'cancelled']],
    ['retried', ['failed']],
  ];
  const all: readonly EmailStatus[] = ['pending', 'submitting', 'submitted', 'failed', 'cancelled'];
  const cases = right.flatMap(([verb, states]) =>
    all.map((status) => [verb, status, states.includes(status)] as const),
  );

  it.each(cases)('on an email: can it be %s while it is %s? %s', async (verb, status, possible) => {
    const world = await JobWorld.of({ status, prepared: PREPARED });
    const command = COMMANDS[verb]('email-1', world.deps());
    if (possible) await command;
    else {
      await expect(command).rejects.toMatchObject({
        problem: 'conflict',
        message: expect.stringMatching(new RegExp(`^The email email-1 is ${status}, so it cannot be ${verb}\\. \\w+`)),
      });
      expect(await world.email()).toMatchObject({ status, version: 1 });
    }
  });

  it('names an email that does not exist', async () => {
    await expect(pauseEmail('none', new JobWorld().deps())).rejects.toMatchObject({ problem: 'not-found' });
  });

  it('cancels the schedule with the email', async () => {
    const world = await JobWorld.of({
      scheduled_at: '2026-03-02T08:00:00.000Z',
      next_at: '2026-03-02T08:00:00.000Z',
      active: 'active',
    });
    await cancelEmail('email-1', world.deps());
    expect(world.schedules).toEqual([['email-1', undefined]]);
    expect(await world.email()).not.toHaveProperty('next_at');
    expect(await startEmail('email-1', world.deps())).toMatchObject({ result: 'skipped' });
  });

  it('pauses a sending, and resumes it where it was', async () => {
    const world = await JobWorld.of();
    world.give([0, 1, 2, 3, 4].map((n) => candidate(n)));
    await pauseEmail('email-1', world.deps());
    expect(await startEmail('email-1', world.deps())).toMatchObject({ result: 'skipped' });
    await resumeEmail('email-1', world.deps());
    expect(world.prepares).toEqual([{ version: 1, kind: 'start', email_id: 'email-1' }]);
    await startEmail('email-1', world.deps());
    expect(world.sends).toHaveLength(2);
  });

  it('retries the failed batches of a failed email, and nothing else', async () => {
    const world = await JobWorld.of({
      status: 'failed',
      error: 'partially sent',
      prepared: { ...PREPARED, batches: 2 },
    });
    await world.tables.batches.put(batchFor([chunkState('ss')], { status: 'submitted' }));
    await world.tables.batches.put(
      batchFor([chunkState('s.')], { batch_id: '00001', status: 'failed', provider_failures: 7, error_message: 'No.' }),
    );
    const email = await retryEmail('email-1', world.deps());
    expect(email).toMatchObject({ status: 'submitting', slots: { 0: { batch_id: '00001' } } });
    expect(email).not.toHaveProperty('error');
    expect(world.sends).toMatchObject([{ batch_id: '00001' }]);
    const failed = await world.tables.batches.read('email-1', '00001');
    expect(failed).toMatchObject({ status: 'pending', provider_failures: 0 });
    expect(failed).not.toHaveProperty('error_message');
  });

  it('spreads what a retry sends over a window of its own', async () => {
    const world = await JobWorld.of({
      status: 'failed',
      prepared: PREPARED,
      delivery_window_minutes: 60,
      submitting_at: '2026-02-20T10:00:00.000Z',
      delivery_deadline: '2026-02-20T11:00:00.000Z',
    });
    await world.tables.batches.put(batchFor([chunkState('..')], { status: 'failed' }));
    const email = await retryEmail('email-1', world.deps());
    expect(email).toMatchObject({ delivery_deadline: '2026-03-01T11:00:00.000Z' });
  });

  it('retries a batch, too, that an event changes at the same moment', async () => {
    const world = await JobWorld.of({ status: 'failed', prepared: { ...PREPARED, recipients: 2 } });
    await world.tables.batches.put(batchFor([chunkState('s.')], { status: 'failed' }));
    const deps = world.deps();
    const list: typeof deps.batches.list = async (email_id) => {
      const found = await deps.batches.list(email_id);
      for (const batch of found) await deps.batches.change(batch, { set: {} });
      return found;
    };
    await retryEmail('email-1', { ...deps, batches: { ...deps.batches, list } });
    expect(await world.tables.batches.read('email-1', '00000')).toMatchObject({ status: 'pending' });
    expect(world.sends).toMatchObject([{ batch_id: '00000' }]);
  });

  it('is needed for a failed email: a message that comes late does not send it', async () => {
    const world = await JobWorld.of({ status: 'failed', prepared: PREPARED });
    await world.tables.batches.put(batchFor([chunkState('....')], { status: 'failed' }));
    expect(await startEmail('email-1', world.deps())).toMatchObject({
      result: 'skipped',
      reason: 'The email failed. Retry it: only what is missing is sent.',
    });
    expect(await world.email()).toMatchObject({ status: 'failed' });
    expect(world.sends).toEqual([]);
  });

  it('prepares a failed email anew that was never prepared', async () => {
    const world = await JobWorld.of({ status: 'failed', error: 'No member' });
    expect(await retryEmail('email-1', world.deps())).toMatchObject({ status: 'pending' });
    expect(world.prepares).toMatchObject([{ kind: 'start' }]);
  });
});

describe('uncertain recipients', () => {
  async function submitted() {
    const world = await JobWorld.of({
      status: 'submitted',
      submitted_at: '2026-03-01T09:30:00.000Z',
      prepared: PREPARED,
    });
    const state = chunkState('susu', { unanswered: { 1: 'a', 3: 'a' } });
    await world.chunks.store.put([{ chunk: chunkOf(4), state }]);
    await world.tables.batches.put(batchFor([state], { status: 'submitted' }));
    return world;
  }

  it('are sent again when an operator says so, by an email that is submitting again', async () => {
    const world = await submitted();
    expect(await resolveEmail('email-1', 'resend', world.deps())).toMatchObject({
      resolved: 2,
      email: { status: 'submitting' },
    });
    expect(await world.states()).toBe('s.s.');
    expect((await world.batches())[0]).toMatchObject({ status: 'pending', counts: { submitted: 2, pending: 2 } });
    expect(world.sends).toMatchObject([{ batch_id: '00000' }]);
  });

  it('are left when an operator says so, and counted', async () => {
    const world = await submitted();
    expect(await resolveEmail('email-1', 'leave', world.deps())).toMatchObject({
      resolved: 2,
      email: { status: 'submitted' },
    });
    expect((await world.batches())[0]).toMatchObject({
      status: 'submitted',
      counts: { uncertain: 2 },
      uncertain_left: 2,
    });
    expect(await resolveEmail('email-1', 'resend', world.deps())).toMatchObject({ resolved: 0 });
  });

  it('are not sent again where events show that the provider accepted them', async () => {
    const world = await submitted();
    const events = await world.tables.events.read('email-1', '00000');
    await world.tables.events.change(events, { bits: { accepted: Uint8Array.of(0b1010) } });
    expect(await resolveEmail('email-1', 'resend', world.deps())).toMatchObject({
      resolved: 0,
      email: { status: 'submitted' },
    });
    expect(await world.states()).toBe('ssss');
    expect(world.sends).toEqual([]);
  });
});
