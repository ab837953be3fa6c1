import { FilterCriteria } from 'aws-cdk-lib/aws-lambda';
import { BREAKER_KIND } from '../../../src/adapters/dynamodb/schema.ts';
import { CONTENT_COLUMNS, FALLBACK_COLUMNS, UPDATED_BY } from '../../../src/core/model/notification.ts';

// `exists` works on leaves only, so the patterns include the type keys. One filter cannot match a field that is either
// absent or anything but some values, so there are two filters for rows that need work, and the `$or`. A mapping has
// five filters at most.
const absent = { S: [{ exists: false }] };
const present = { S: [{ exists: true }] };
/** Our own writers set one of these columns, also when they give a row up. */
const notOurs = { work_queue: absent, failure_reason: absent };
/** Each of our writes leaves our name, so someone else has written the row last. */
const writtenByOthers = [{ updated_by: absent }, { updated_by: { S: [{ 'anything-but': [UPDATED_BY] }] } }];
const withReasonOrKeys = [{ work_queue: absent, failure_reason: present }, { work_queue: present }];

/** What is read of a stream costs nothing until the function gets it. */
const changes = (dynamodb: object, ...eventName: readonly string[]) =>
  FilterCriteria.filter({ ...(eventName.length > 0 && { eventName }), dynamodb });
const written = (NewImage: object) => changes({ NewImage }, 'INSERT', 'MODIFY');

/**
 * The changes of NotificationLog that concern rows that others wrote, without our index keys. Our own
 * writers set the keys themselves and must not start the indexer. A change passes if it matches any of the filters.
 */
export const FOREIGN_ROWS = [
  // To be sent or retried: every status but SENDING (a worker has it) and SUCCESS (it has arrived).
  written({ ...notOurs, send_status: { S: [{ 'anything-but': ['SUCCESS', 'SENDING'] }] } }),
  // Malformed: a row without a status is set aside, not overlooked.
  written({ ...notOurs, send_status: absent }),
  // Delivered by others: the history lookups must find these rows.
  written({ send_status: { S: ['SUCCESS'] }, history_bucket: absent }),
  // With a reason, or with index keys, that may not be ours: the indexer decides.
  written({ $or: withReasonOrKeys.flatMap((row) => writtenByOthers.map((by) => ({ ...row, ...by }))) }),
  // With content, which is in no row that was taken in: its writer has put it there since, in whichever state (invariant
  // 14). While a worker has the row, the image of its settlement is the one to read.
  written({
    $or: [...CONTENT_COLUMNS, ...FALLBACK_COLUMNS].map((column) => ({ [column]: present })),
    send_status: { S: [{ 'anything-but': ['SENDING'] }] },
  }),
];

/** Images that say how a notification ended, or that a mail came back (src/core/outcomes/notification-outcomes.ts). */
export const ENDED_NOTIFICATIONS = [
  written({ send_status: { S: ['SUCCESS'] }, last_attempt: { N: [{ exists: true }] } }),
  written({ send_status: { S: ['FAILED'] }, failure_reason: present }),
  written({ bounced_at: present }),
];

/** Also a breaker that expires. The budgets and counts of the table change with every batch. */
export const BREAKERS = [changes({ Keys: { kind: { S: [BREAKER_KIND] } } })];

export const ENDED_EMAILS = [written({ part: { S: ['row'] }, status: { S: ['submitted', 'failed', 'cancelled'] } })];

/** The facts of an address; a member's item and its pointer have a `member_uuid`, and the mark of one is `gone`. */
export const ADDRESS_FACTS = [
  written({ member_uuid: { S: [{ exists: false }] }, gone: { BOOL: [{ exists: false }] } }),
];
