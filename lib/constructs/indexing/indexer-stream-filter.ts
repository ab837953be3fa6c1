import { FilterCriteria } from 'aws-cdk-lib/aws-lambda';

// `exists` works on leaves only, hence the type keys. Of one field, a value that is absent and a value that is
// anything but others cannot be asked for in one filter, hence the two filters for rows that need work.
const absent = { S: [{ exists: false }] };
/** Who writes a row itself, or has given it up, leaves one of these. */
const unknownToUs = { work_queue: absent, failure_reason: absent };

const written = (newImage: Readonly<Record<string, object>>) =>
  FilterCriteria.filter({
    eventName: ['INSERT', 'MODIFY'],
    dynamodb: { NewImage: newImage },
  });

/**
 * Which changes of NotificationLog concern rows that others wrote, without our index keys (design §4). Our own
 * writers set the keys themselves and must not wake the indexer. A change passes that fits any of them.
 */
export const FOREIGN_ROWS = [
  // To be sent or retried: whatever the status is, unless someone is at it or it has arrived.
  written({ ...unknownToUs, send_status: { S: [{ 'anything-but': ['SUCCESS', 'SENDING'] }] } }),
  // Malformed: without a status it is set aside, not overlooked.
  written({ ...unknownToUs, send_status: absent }),
  // Delivered by others: only to be found by the history lookups.
  written({ send_status: { S: ['SUCCESS'] }, history_bucket: absent }),
];
