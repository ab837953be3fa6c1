import { FilterCriteria } from 'aws-cdk-lib/aws-lambda';

// `exists` works on leaves only, so the patterns include the type keys. One filter cannot match a field that is either
// absent or anything but some values, so there are two filters for rows that need work.
const absent = { S: [{ exists: false }] };
/** Our own writers set one of these columns, also when they give a row up. */
const notOurs = { work_queue: absent, failure_reason: absent };

const written = (newImage: Readonly<Record<string, object>>) =>
  FilterCriteria.filter({
    eventName: ['INSERT', 'MODIFY'],
    dynamodb: { NewImage: newImage },
  });

/**
 * The changes of NotificationLog that concern rows that others wrote, without our index keys (design §4). Our own
 * writers set the keys themselves and must not start the indexer. A change passes if it matches any of the filters.
 */
export const FOREIGN_ROWS = [
  // To be sent or retried: every status but SENDING (a worker has it) and SUCCESS (it has arrived).
  written({ ...notOurs, send_status: { S: [{ 'anything-but': ['SUCCESS', 'SENDING'] }] } }),
  // Malformed: a row without a status is set aside, not overlooked.
  written({ ...notOurs, send_status: absent }),
  // Delivered by others: the history lookups must find these rows.
  written({ send_status: { S: ['SUCCESS'] }, history_bucket: absent }),
];
