import { expect, it } from 'vitest';
import type { Email } from '../../../../src/core/newsletter/model/email.ts';
import { DEFAULT_JOB_LIMITS } from '../../../../src/core/newsletter/model/job-limits.ts';
import { LeaseLostError, PreparationLease } from '../../../../src/core/newsletter/preparation/lease.ts';
import type { PrepareDeps } from '../../../../src/core/newsletter/preparation/ports.ts';
import { MemoryEmails } from '../../../../tools/simulation/twins/newsletter-items.ts';

const clock = () => new Date('2026-03-01T10:00:00.000Z');
const NEWSLETTER = {
  tenant_id: 't',
  newsletter_id: 'n',
  name: 'N',
  from: 'n@example.com',
  created_at: '',
  updated_at: '',
};
const EMAIL: Email = {
  email_id: 'e',
  tenant_id: 't',
  newsletter_id: 'n',
  status: 'submitting',
  paused: false,
  version: 1,
  slots: {},
  claim_id: 'ours',
  claim_until: '2026-03-01T10:02:00.000Z',
  created_at: '',
  updated_at: '',
  expires_at: 0,
};

async function held() {
  const { emails } = new MemoryEmails(clock);
  const email = await emails.create(EMAIL, { subject: '', body: '', format: 'text', newsletter: NEWSLETTER });
  const deps = { emails, clock, pause: async () => {}, remaining_ms: () => 600_000, limits: DEFAULT_JOB_LIMITS };
  const lease = new PreparationLease(email, {
    ...deps,
    log: { info() {}, warn() {}, error() {} },
  } as unknown as PrepareDeps);
  return { emails, email, lease };
}

it('keeps its claim while the count pass or an operator changes the row', async () => {
  const { emails, email, lease } = await held();
  await emails.change(email, { set: { email_count: 12, paused: true } });
  const set = { prepared: { recipients: 12, excluded: 0, excluded_by_reason: {}, batches: 1, at: '' } };
  expect(await lease.change({ set })).toMatchObject({ ...set, email_count: 12, paused: true, claim_id: 'ours' });
});

it('is lost when another invocation took the email over', async () => {
  const { emails, email, lease } = await held();
  await emails.change(email, { set: { claim_id: 'theirs' } });
  await expect(lease.change({ set: { email_count: 1 } })).rejects.toThrow(LeaseLostError);
});
