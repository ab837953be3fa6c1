import { expect, it } from 'vitest';
import { CANCELLATION } from '../../../src/core/delivery/transitions/without-attempt.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { withChange } from '../../../src/core/model/row-change.ts';
import { checkRetry } from '../../../src/core/model/row-state.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { at, dueRow, iso } from '../../support/rows.ts';

const { work_queue: _, ...stopped } = dueRow({ send_status: 'FAILED', failure_reason: 'MAX_RETRIES' });
const { work_queue: __, work_at: ___, ...outside } = dueRow();
const until = iso(5_000);
const dead = dueRow({ failure_reason: 'MAX_RETRIES', work_queue: workQueueOf('dead', 'normal', 'log-1') });

it.each<[string, NotificationRow, string]>([
  ['is due', dueRow(), 'due'],
  ['waits', dueRow({ work_at: until }), 'waiting'],
  ['is dead', dead, 'dead'],
  ['is stopped', stopped, 'stopped'],
  ['was cancelled', withChange(dead, CANCELLATION), 'stopped'],
  ['lost its worker', dueRow({ send_status: 'SENDING', claim_until: iso() }), 'abandoned'],
])('a notification that %s can be retried', (_, row, state) => expect(checkRetry(row, at(1_000))).toEqual({ state }));

it.each<[string, NotificationRow, string]>([
  [
    'was deleted',
    dueRow({ is_deleted: true }),
    'its writer deleted it (is_deleted); to send it anyway, set is_deleted to false first',
  ],
  [
    'is delivered, deleted or not',
    dueRow({ send_status: 'SUCCESS', is_deleted: true }),
    'it is delivered already and is never sent again',
  ],
  [
    'is being sent',
    dueRow({ send_status: 'SENDING', claim_until: until }),
    `an attempt is under way until ${until} at the latest; check again after that`,
  ],
  [
    'continues on its fallback channel',
    { ...stopped, successor_log_id: 'log-1-fallback' },
    'it continues on its fallback channel as log-1-fallback; retry that one',
  ],
  [
    'has a wrong recipient',
    { ...stopped, failure_reason: 'INVALID_RECIPIENT' },
    'INVALID_RECIPIENT: Correct the recipient: Correct in the console, or ops correct LOG_ID, changes and resends it',
  ],
  [
    'was set aside',
    { ...outside, failure_reason: 'FORMAT_ERROR' },
    'it was set aside as malformed; its writer has to correct the columns that error_message names',
  ],
  ['was not taken in yet', outside, 'it is not in the work index yet; try again in a few seconds'],
])('a notification that %s cannot be retried, and the refusal says what to do', (_, row, refused) => {
  expect(checkRetry(row, at(1_000))).toEqual({ refused });
  expect(refused, 'whoever says it ends the sentence').not.toMatch(/\.$/);
});

it('a cancellation leaves nothing by which the notification would be sent or redriven', () => {
  const row = withChange(
    { ...dead, next_retry_at: until, give_up: 'EXPIRED', dead_message_id: 'message-0', dead_run_id: 'sweep-1' },
    CANCELLATION,
  );
  expect(row).toEqual({ ...outside, work_at: iso(), failure_reason: 'CANCELLED' });
});
