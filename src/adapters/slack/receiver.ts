import { integrationOf } from '../../core/delivery/send.ts';
import type { NotificationRow } from '../../core/model/notification.ts';
import type { PacedReceiver } from '../../core/pacing/paced-gate.ts';
import { SLACK_PER_SECOND } from '../../core/pacing/pacing-policy.ts';
import { integrationKey, recipientKey } from '../recipient/receiver-key.ts';
import type { IntegrationCredentials } from '../secrets/integration-credentials.ts';
import { slackCredential } from './credential.ts';

/** What Slack counts posts by: the channel of a token's post, or the incoming webhook. */
export function slackReceiver(credentials: IntegrationCredentials) {
  return async (row: NotificationRow): Promise<PacedReceiver | undefined> => {
    const loaded = await credentials.load(slackCredential, { tenant_id: row.tenant_id, ...integrationOf(row) });
    if (!loaded.ok) return undefined;
    const toWebhook = loaded.credential !== undefined && loaded.credential.token === undefined;
    const key = toWebhook ? integrationKey(row) : recipientKey(row);
    return key === undefined ? undefined : { key, per_second: SLACK_PER_SECOND };
  };
}
