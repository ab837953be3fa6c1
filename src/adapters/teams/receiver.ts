import type { NotificationRow } from '../../core/model/notification.ts';
import type { PacedReceiver } from '../../core/pacing/paced-gate.ts';
import { TEAMS_PER_SECOND } from '../../core/pacing/pacing-policy.ts';
import { integrationKey, recipientKey } from '../recipient/receiver-key.ts';

/** Teams counts posts by workflow: that of the integration, or the recipient. */
export async function teamsReceiver(row: NotificationRow): Promise<PacedReceiver | undefined> {
  const key = integrationKey(row) ?? recipientKey(row);
  return key === undefined ? undefined : { key, per_second: TEAMS_PER_SECOND };
}
