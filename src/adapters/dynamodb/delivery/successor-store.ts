import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type FallbackRouting, type SuccessorStore, successorId } from '../../../core/delivery/failover.ts';
import type { ContentOwner } from '../../../core/indexing/index-row.ts';
import { providerHost } from '../../../core/model/channels.ts';
import { type NotificationContent, type NotificationRow, SEALED } from '../../../core/model/notification.ts';
import { NEW } from '../../../core/model/row-change.ts';
import { jsonObject, maskedWords } from '../../../core/model/text.ts';
import { type Sealer, SealRefusedError } from '../../sealing/sealer.ts';
import { recipientHash } from '../../signing/hashed-ids.ts';
import { type Item, toItem, toNotificationRow, toValue } from '../table/item.ts';
import { getItems, readItem } from '../table/reads.ts';
import { putGuarded } from '../table/writes.ts';
import { bodyAttribute, sealRecipient, sequenceValue } from './content-items.ts';

/** The attributes that the content of a successor has in common with that of its predecessor. */
const COPIED = ['tenant_id', 'subject', 'message_format', 'message_body', 'message_body_deflated'] as const;

/** SuccessorStore on NotificationLog and NotificationContent. The fallback recipient is copied encrypted. */
export function createSuccessorStore(
  client: DynamoDBClient,
  tables: { readonly notification_log: string; readonly notification_content: string },
): SuccessorStore {
  const { notification_log, notification_content } = tables;

  /** False when the log_id exists already. */
  const putNew = async (table: string, item: Item) => (await putGuarded(client, table, item, [NEW])).applied;

  return {
    async copyContent(row, { log_id, expires_at }) {
      const content = (await readItem(client, notification_content, row.log_id)) ?? {};
      const { encrypted_fallback_recipient: encrypted_recipient } = content;
      // What is stored for another life is sealed for the successor of that one.
      if (encrypted_recipient === undefined || lifeOf(content) !== row.life) return undefined;
      const copied = Object.fromEntries(COPIED.flatMap((name) => (content[name] ? [[name, content[name]]] : [])));
      await putNew(notification_content, {
        ...copied,
        ...toItem({ log_id, expires_at, image_sequence: 0 }),
        encrypted_recipient,
      });
      return routingOf(content);
    },

    async put(row) {
      const item = toItem(row);
      if (await putNew(notification_log, item)) return toNotificationRow(item);
      const [stored] = await getItems(client, notification_log, [{ log_id: { S: row.log_id } }], { consistent: true });
      if (stored === undefined) throw new Error(`The successor ${row.log_id} existed a moment ago and is gone now.`);
      return toNotificationRow(stored);
    },
  };
}

/** Of the life that a stored content is of; undefined: of the first one. */
export function lifeOf({ life }: Item): number | undefined {
  return life?.N === undefined ? undefined : Number(life.N);
}

export function routingOf(content: Item): FallbackRouting {
  const { fallback_integration_config_id, fallback_provider_host, fallback_recipient_hash } = content;
  return {
    ...(fallback_integration_config_id?.S && { integration_config_id: fallback_integration_config_id.S }),
    ...(fallback_provider_host?.S && { provider_host: fallback_provider_host.S }),
    ...(fallback_recipient_hash?.S && { recipient_hash: fallback_recipient_hash.S }),
  };
}

/**
 * The attributes of a content that its successor needs and that only the plain recipient gives. The recipient is
 * encrypted for the successor now, so the function that fails over never sees it and needs no right to encrypt.
 */
export async function fallbackAttributes(
  { log_id, tenant_id, life }: Pick<NotificationRow, 'log_id' | 'tenant_id' | 'life'>,
  { recipient, integration_config_id }: NonNullable<NotificationContent['fallback']>,
  sealer: Sealer,
  hashKey: () => Promise<string>,
): Promise<Item> {
  return toItem({
    encrypted_fallback_recipient: await sealRecipient(
      sealer,
      { log_id: successorId(log_id, life), tenant_id },
      recipient,
    ),
    fallback_recipient_hash: recipientHash(await hashKey(), tenant_id, recipient),
    fallback_integration_config_id: integration_config_id,
    fallback_provider_host: integration_config_id ? undefined : providerHost(recipient),
  });
}

/** The stored fallback recipient, sealed for the successor of another life; as it was where nobody can read it. */
async function resealed(
  { log_id, tenant_id, life }: Pick<NotificationRow, 'log_id' | 'tenant_id' | 'life'>,
  stored: Item,
  sealer: Sealer,
): Promise<Item> {
  const sealed = stored['encrypted_fallback_recipient']?.S;
  if (sealed === undefined) return {};
  const from = { tenant_id, purpose: SEALED.recipients, id: successorId(log_id, lifeOf(stored)) };
  try {
    const owner = { log_id: successorId(log_id, life), tenant_id };
    return toItem({
      encrypted_fallback_recipient: await sealRecipient(sealer, owner, await sealer.open(from, sealed)),
    });
  } catch (error) {
    if (error instanceof SealRefusedError) return {};
    throw error;
  }
}

/** A content, of the life that begins with it. */
export interface Owned extends ContentOwner {
  readonly life?: number;
}

/** What is stored, with what its writer, or an operator, has put in place of a part of it. */
export async function amendedItem(
  owner: Owned,
  given: Partial<NotificationContent>,
  stored: Item,
  { sealer, hashKey }: { readonly sealer: Sealer; readonly hashKey: () => Promise<string> },
): Promise<Item> {
  const { log_id, tenant_id, expires_at } = owner;
  const { recipient, subject, body, format, fallback } = given;
  const { message_body, message_body_deflated, life: _, attempts_before: __, corrected_at: ___, ...rest } = stored;
  const kept = { ...(message_body && { message_body }), ...(message_body_deflated && { message_body_deflated }) };
  const encrypted_recipient = recipient && (await sealRecipient(sealer, { log_id, tenant_id }, recipient));
  const amended = {
    ...rest,
    ...(recipient !== undefined && toItem(saidOfFormer(rest))),
    ...toItem({ encrypted_recipient, subject, message_format: format, expires_at }),
    ...(body === undefined ? kept : bodyAttribute(body)),
    ...(fallback ? await fallbackAttributes(owner, fallback, sealer, hashKey) : await resealed(owner, stored, sealer)),
  };
  return placed(amended, owner);
}

/** What its writer noted of the recipient of before, and what the request said of a failed send, with addresses masked. */
function saidOfFormer({ response_message, error_details, accepted_request }: Item) {
  const asked = jsonObject(accepted_request?.S ?? '');
  const failed_attempt = Object(asked?.['failed_attempt']) as object;
  const masked = maskedWords(failed_attempt);
  return {
    ...maskedWords({ response_message: response_message?.S, error_details: error_details?.S }),
    ...(Object.keys(masked).length > 0 && {
      accepted_request: JSON.stringify({ ...asked, failed_attempt: { ...failed_attempt, ...masked } }),
    }),
  };
}

export function placed(item: Item, { sequence, life, attempts_before = 1 }: Owned): Item {
  const image_sequence = toValue(sequenceValue(sequence));
  return { ...item, image_sequence, ...toItem({ life, ...(attempts_before !== 1 && { attempts_before }) }) };
}
