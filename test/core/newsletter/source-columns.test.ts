import { describe, expect, it } from 'vitest';
import { startEmail } from '../../../src/core/newsletter/lifecycle/start.ts';
import { DEFAULT_JOB_LIMITS } from '../../../src/core/newsletter/model/job-limits.ts';
import { sendBatch } from '../../../src/core/newsletter/sending/send-batch.ts';
import { candidate, JobWorld } from '../../support/newsletter/job-world.ts';

/** An email of two batches: the first one was sent, the provider refused the second one. */
async function partiallySent(): Promise<JobWorld> {
  const once = { ...DEFAULT_JOB_LIMITS.provider, retries: 0 };
  const world = await JobWorld.of({ segment: 'status:free' }, {}, { provider: once });
  world.give([0, 1, 2, 3, 4].map((n) => candidate(n, { name: `Reader ${n}` })));
  await startEmail('email-1', world.deps());
  world.answer = ({ entries }) =>
    entries.length === 1
      ? { kind: 'refused', refusal: { class: 'transient', reason: 'paused', message: 'Paused.', status_code: 403 } }
      : { kind: 'answered', entries: entries.map(({ to }) => ({ accepted: true, message_id: `id-${to}` })) };
  for (const message of [...world.sends]) if (message.kind === 'batch') await sendBatch(message, world.deps());
  return world;
}

/** What the job leaves in the columns of batch-sending-service-job.md, テーブル別操作詳細. */
describe('the columns of the source', () => {
  it('emails: status, email_count, error, submitted_at', async () => {
    const world = await partiallySent();
    const failed = await world.email();
    expect(failed).toMatchObject({
      status: 'failed',
      email_count: 5,
      error: expect.stringMatching(/^The email was partially sent: 1 of 5 recipients in 1 batch were not sent/),
    });
    expect(failed).not.toHaveProperty('submitted_at');
  });

  it('email_batches: what the preparation inserts, and what the sending updates', async () => {
    const [sent, refused] = await (await partiallySent()).batches();
    const inserted = { email_id: 'email-1', member_segment: '', fallback_sending_domain: false };
    expect(sent).toMatchObject({ ...inserted, status: 'submitted', provider_id: 'id-m0@example.com' });
    for (const column of ['error_status_code', 'error_message', 'error_data']) expect(sent).not.toHaveProperty(column);
    expect(refused).toMatchObject({
      ...inserted,
      status: 'failed',
      error_status_code: 403,
      error_message: 'The provider refused the batch: Paused.',
      error_data: JSON.stringify({ code: 'BULK_EMAIL_SEND_FAILED', reason: 'paused' }),
    });
    expect(refused).not.toHaveProperty('provider_id');
  });

  it('email_recipients: what the preparation inserts, and processed_at after an attempt', async () => {
    const world = await partiallySent();
    const key = { email_id: 'email-1', batch_id: '00000', chunk: 0 };
    expect(await world.chunks.store.readChunk(key)).toMatchObject({
      ...key,
      recipients: [
        { member_id: 'm-0', member_uuid: 'uuid-0', member_email: 'm0@example.com', member_name: 'Reader 0' },
        { member_id: 'm-1', member_uuid: 'uuid-1', member_email: 'm1@example.com', member_name: 'Reader 1' },
      ],
    });
    // A refused attempt is one, too.
    for (const batch_id of ['00000', '00001']) {
      expect(await world.chunks.store.readState({ ...key, batch_id })).toMatchObject({
        processed_at: world.now.toISOString(),
      });
    }
  });
});
