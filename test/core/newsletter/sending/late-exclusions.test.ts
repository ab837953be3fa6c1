import { expect, it } from 'vitest';
import { createLateExclusions } from '../../../../src/core/newsletter/sending/exclusion-checks.ts';
import { createMemoryMembers } from '../../../../tools/simulation/twins/members.ts';
import { recipient } from '../../../support/newsletter/job-rows.ts';
import { legibleSealing } from '../../../support/newsletter/members.ts';

const AT = '2026-03-01T10:00:00.000Z';
const EMAIL = { tenant_id: 'tenant-1', newsletter_id: 'news', created_at: AT };

it('excludes whom the facts of the address exclude now, in the order of the recipients', async () => {
  const members = createMemoryMembers();
  const sealing = legibleSealing();
  const hash = (email: string, tenant_id = 'tenant-1') => sealing.emailHash(tenant_id, email);
  await members.unsubscribe('tenant-1', await hash('m1@example.com'), 'news', AT);
  await members.unsubscribe('tenant-1', await hash('m2@example.com'), 'other', AT);
  await members.suppress('tenant-1', await hash('m3@example.com'), { reason: 'bounced', at: AT });
  await members.unsubscribe('tenant-1', await hash('m3@example.com'), 'news', AT);
  await members.suppress('tenant-2', await hash('m0@example.com', 'tenant-2'), { reason: 'complained', at: AT });
  const recipients = [
    ...[3, 0, 1, 2].map((n) => recipient(n)),
    // Case does not count for an address.
    recipient(9, { member_email: 'M1@Example.com' }),
  ];
  expect(await createLateExclusions(members, sealing).check(EMAIL, recipients)).toEqual([
    'suppressed',
    undefined,
    'unsubscribed',
    undefined,
    'unsubscribed',
  ]);
});

it('asks for each address once', async () => {
  const asked: (readonly string[])[] = [];
  const facts = async (_: string, hashes: readonly string[]) => {
    asked.push(hashes);
    return new Map();
  };
  const sealing = legibleSealing();
  const same = [recipient(0), recipient(1), recipient(0)];
  await createLateExclusions({ facts }, sealing).check(EMAIL, same);
  expect(asked.map(({ length }) => length)).toEqual([2]);
});
