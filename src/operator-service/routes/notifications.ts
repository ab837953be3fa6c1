import * as v from 'valibot';
import { recipientHash } from '../../adapters/signing/hashed-ids.ts';
import { notificationsQuery, recipientHashBody } from '../contract/notifications.ts';
import type { OperatorDeps } from '../deps.ts';
import { findNotifications, notificationDetail } from '../notifications.ts';
import { type RouteTable, route } from '../route.ts';

/** Notifications: lists, one with its attempts, and the hash by which lists find a recipient. */
export function notificationRoutes(deps: OperatorDeps): RouteTable {
  return {
    'GET /api/notifications': route('GET /api/notifications', notificationsQuery, ({ input }) =>
      findNotifications(input, deps),
    ),
    'GET /api/notifications/{log_id}': route('GET /api/notifications/{log_id}', v.strictObject({}), ({ path }) =>
      notificationDetail(path['log_id'] ?? '', deps),
    ),
    'POST /api/recipient-hash': route('POST /api/recipient-hash', recipientHashBody, async ({ input }) => ({
      recipient_hash: recipientHash(await deps.deployment.recipientHashKey(), input.tenant, input.recipient),
    })),
  };
}
