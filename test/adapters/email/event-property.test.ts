import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { parseDeliveryEvent } from '../../../src/adapters/email/delivery-event-message.ts';
import { parseNewsletterEvent } from '../../../src/adapters/email/newsletter-event-message.ts';
import type { Json, JsonObject } from '../../../src/local/support/json.ts';
import { SES_EVENTS, type SesEventCase } from '../../corpus/ses-events/cases.ts';
import { deployedRules, eventOf } from '../../support/lib/ses-rules.ts';

const MAILS = {
  retry: { 'ses:configuration-set': 'notification-retry-dev', log_id: 'log-1', attempt: '2' },
  newsletter: {
    'ses:configuration-set': 'notification-retry-dev-newsletters',
    email_id: 'email-1',
    chunk: '00000-0',
    n: '1',
  },
} as const;

let rules: ReturnType<typeof deployedRules>;
beforeAll(() => {
  rules = deployedRules();
});

/** What SES may leave out or say otherwise: never the time, which every event has. */
const DETAILS = ['complaintSubType', 'complaintFeedbackType', 'isBotEvent', 'status', 'bounceType', 'bounceSubType'];
const anything = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary', maxLength: 400 }),
  fc.constantFrom(null, '', 0, false, 'not-spam', 'Likely', '5.1.1 (x)', 'OnAccountSuppressionList', 'a@b.example'),
);

function mutated(content: JsonObject, name: string, value: Json): JsonObject {
  return JSON.parse(JSON.stringify(content), (key, old) => (key === name ? value : old));
}

it.each(['retry', 'newsletter'] as const)('an event with any details reaches its reader: %s', async (of) => {
  const cases = SES_EVENTS.filter((one) => one[of] !== null);
  let changed = 0;
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...cases), fc.constantFrom(...DETAILS), anything, async (one, name, value) => {
      const content = mutated(one.content, name, value);
      const other: SesEventCase = { ...one, content };
      if (JSON.stringify(content) !== JSON.stringify(one.content)) changed += 1;
      const bodies = await rules(eventOf(other, MAILS[of]));
      // A null may fit two rules; what an event tells may be told twice.
      expect(bodies.length).toBeGreaterThan(0);
      for (const body of bodies) {
        const read = of === 'retry' ? parseDeliveryEvent(body) : parseNewsletterEvent(body);
        expect(read).toMatchObject(of === 'retry' ? { log_id: 'log-1', attempt: 2 } : { email_id: 'email-1', n: 1 });
      }
    }),
    { numRuns: 300 },
  );
  expect(changed).toBeGreaterThan(50);
});
