import { expect, it } from 'vitest';
import { createCandidateReader } from '../../../src/adapters/nql/candidate-reader.ts';
import { parseSegment } from '../../../src/adapters/nql/parse-segment.ts';
import { segmentFields, segmentMatcher } from '../../../src/core/newsletter/audience/segment.ts';
import { createMemoryMembers } from '../../../tools/simulation/twins/members.ts';
import { legibleSealing, storedMember } from '../../support/newsletter/members.ts';

const NOW = '2026-11-22T00:00:00.000Z';
const email = { email_id: 'e-1', tenant_id: 't', newsletter_id: 'weekly', created_at: NOW } as never;

it.each([
  ['status:paid', ['status']],
  ["label:vip+created_at:>'2020-01-01',newsletter:weekly", ['created_at', 'labels', 'newsletters']],
  ["(status:free,member_id:'m-1')+label:-'vip'", ['labels', 'member_id', 'status']],
])('reads for %s the fields %j', async (segment, fields) => {
  expect([...segmentFields(await parseSegment(segment))].sort()).toEqual(fields);
});

it('reads what the parts of a post look at, although the audience is everyone', async () => {
  const store = createMemoryMembers(() => new Date(NOW));
  const sealing = legibleSealing();
  for (const [member_id, status] of [
    ['m-1', 'paid'],
    ['m-2', 'free'],
  ] as const) {
    const identity = { email: `${member_id}@example.com` };
    const sealed_identity = await sealing.sealMember('t', member_id, identity);
    await store.upsert([storedMember('t', member_id, { newsletters: ['weekly'], status, sealed_identity })]);
  }
  const segment = await parseSegment('status:paid');
  const part = {
    segment: 'status:paid',
    matches: segmentMatcher(segment, new Date(NOW)),
    fields: segmentFields(segment),
  };
  const shown: string[] = [];
  for await (const { candidates } of createCandidateReader(store, sealing).pages(email, undefined, [part])) {
    for (const { member } of candidates) if (part.matches(member)) shown.push(member.member_id);
  }
  expect(shown).toEqual(['m-1']);
});
