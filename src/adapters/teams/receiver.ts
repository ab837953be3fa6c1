import type { NotificationRow } from '../../core/model/notification.ts';
import type { PacedReceiver } from '../../core/pacing/paced-gate.ts';
import { TEAMS_PER_SECOND } from '../../core/pacing/pacing-policy.ts';
import { receiverKey } from '../recipient/receiver-key.ts';

/** Teams counts posts by workflow: that of the integration, or the recipient. */
export async function teamsReceiver(row: NotificationRow): Promise<PacedReceiver | undefined> {
  const key = receiverKey(row.integration_config_id || row.recipient_hash);
  return key === undefined ? undefined : { key, per_second: TEAMS_PER_SECOND };
}
