import { FilterCriteria } from 'aws-cdk-lib/aws-lambda';
import { BREAKER_KIND } from '../../../src/adapters/dynamodb/schema.ts';

/** What is read of a stream costs nothing until the function gets it. */
const changes = (dynamodb: object, ...eventName: readonly string[]) =>
  FilterCriteria.filter({ ...(eventName.length > 0 && { eventName }), dynamodb });
const written = (NewImage: object) => changes({ NewImage }, 'INSERT', 'MODIFY');
// `exists` works on leaves only, so the patterns include the type keys.
const text = { S: [{ exists: true }] };

/** Images that say how a notification ended, or that a mail came back (src/core/outcomes/notification-outcomes.ts). */
export const ENDED_NOTIFICATIONS = [
  written({ send_status: { S: ['SUCCESS'] }, last_attempt: { N: [{ exists: true }] } }),
  written({ send_status: { S: ['FAILED'] }, failure_reason: text }),
  written({ bounced_at: text }),
];

/** Also a breaker that expires. The budgets and counts of the table change with every batch. */
export const BREAKERS = [changes({ Keys: { kind: { S: [BREAKER_KIND] } } })];

export const ENDED_EMAILS = [written({ part: { S: ['row'] }, status: { S: ['submitted', 'failed', 'cancelled'] } })];

/** The facts of an address; a member's item and its pointer have a `member_uuid`, and the mark of one is `gone`. */
export const ADDRESS_FACTS = [
  written({ member_uuid: { S: [{ exists: false }] }, gone: { BOOL: [{ exists: false }] } }),
];
