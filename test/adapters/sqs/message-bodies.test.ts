import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseQueueMessage } from '../../../src/adapters/sqs/message-bodies.ts';
import { type QueueMessage, withToken } from '../../../src/core/model/queue-message.ts';
import { epochMs } from '../../../src/core/model/time.ts';
import { entryFaults, workFaults } from '../../../src/core/model/work-rules.ts';
import { anyCharacter } from '../../support/any-character.ts';
import { dueRow, messageFor } from '../../support/rows.ts';

const isRead = (message: QueueMessage) => {
  try {
    return JSON.stringify(parseQueueMessage(JSON.stringify(message))) === JSON.stringify(message);
  } catch {
    return false;
  }
};

describe('a message of a lane', () => {
  it('can be read though it is a copy of a run with the longest name', () => {
    expect(isRead(messageFor(dueRow(), { run_id: withToken('r'.repeat(100), '123456789') }))).toBe(true);
  });

  const pad = (most: number) => fc.integer({ min: 0, max: most }).map((number) => String(number).padStart(2, '0'));
  const anyTime = fc
    .tuple(
      fc.constantFrom('2026', '9999', '0000', '+010000', '-000001'),
      pad(13),
      pad(32),
      fc.constantFrom('T', ' '),
      pad(25),
      pad(60),
      fc.oneof(
        fc.constant(''),
        pad(60).map((s) => `:${s}`),
        fc.integer({ min: 1, max: 12 }).map((n) => `:00.${'1'.repeat(n)}`),
      ),
      fc.constantFrom('Z', '', '+09:00', '+0900', '+09', '-14:00'),
    )
    .map(
      ([year, month, day, t, hour, minute, rest, zone]) => `${year}-${month}-${day}${t}${hour}:${minute}${rest}${zone}`,
    );
  const anyId = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 110 }),
    fc.integer({ min: 45, max: 102 }).map((count) => '🐝'.repeat(count)),
  );

  it('can be read whenever its row passes the rules of the work index', () => {
    const seen = { passed: 0, failed: 0 };
    const row = fc.record({ log_id: anyId, tenant_id: anyId, work_at: anyTime }, { requiredKeys: [] });
    fc.assert(
      fc.property(row, (changes) => {
        const entry = { ...dueRow(), work_queue: 'due#normal#1', ...changes };
        const passes = entryFaults(entry.work_queue, entry).length === 0;
        seen[passes ? 'passed' : 'failed'] += 1;
        expect(isRead(messageFor(entry)), JSON.stringify(changes)).toBe(passes);
        if (passes) expect(epochMs(String(entry.work_at))).not.toBeNaN();
      }),
      { numRuns: 2_000, seed: 20_260_301 },
    );
    expect(Math.min(seen.passed, seen.failed)).toBeGreaterThan(100);
  });

  it.each(['2026-03-01T10:30Z', '2026-03-01T24:00:00Z', '2026-03-01T10:30:00.0123456789Z', '2026-03-01T10:30:00.000Z'])(
    'can be read for a row that is due at %s',
    (work_at) => {
      const row = dueRow({ work_at });
      expect(workFaults({ ...row })).toEqual([]);
      expect(isRead(messageFor(row))).toBe(true);
    },
  );
});

it.each([
  ['2025-06-01 24:00:00', 'no deadline could be computed from it'],
  ['2025-06-01 10:30:00', 'its deadline would depend on the zone of the worker'],
])('a row of the work index is malformed with the first attempt at %s: %s', (first_attempt_at) => {
  expect(workFaults({ ...dueRow({ first_attempt_at }) })).toMatchObject([{ column: 'first_attempt_at' }]);
});
