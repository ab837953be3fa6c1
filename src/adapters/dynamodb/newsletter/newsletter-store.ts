import { type DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { ofTime, shows } from '../../../core/model/row-change.ts';
import type { Newsletter } from '../../../core/newsletter/model/email.ts';
import type { NewsletterStore, SenderAction } from '../../../core/newsletter/model/ports.ts';
import { SENDERS_PREFIX } from '../schema.ts';
import { type Item, toItem } from '../table/item.ts';
import { getItem, queryPages } from '../table/reads.ts';
import { updateItem } from '../table/writes.ts';

const OPTIONAL = [
  'reply_to',
  'sending_domain',
  'fallback_domain',
  'track',
  'sender_name',
  'postal_address',
  'contact',
  'language',
  'accent_color',
  'logo_url',
] as const satisfies readonly (keyof Newsletter)[];

/** No newsletter is called so: ids have no `@`. */
const SENDERS = '@';
const SENDERS_AT = '@domain';

/** The item with the senders of a tenant, under a key that no newsletter has. */
const sendersKey = (tenant_id: string) => ({
  tenant_id: { S: `${SENDERS_PREFIX}${tenant_id}` },
  newsletter_id: { S: SENDERS },
});

/** The item with the senders at a domain, each behind its tenant. */
const sendersAtKey = (domain: string) => ({
  tenant_id: { S: `${SENDERS_PREFIX}${domain}` },
  newsletter_id: { S: SENDERS_AT },
});

/** @param own_senders_only a tenant without senders of its own writes as nobody */
export function createNewsletterStore(
  client: DynamoDBClient,
  table: string,
  own_senders_only = false,
): NewsletterStore {
  async function changeSet(key: Item, action: SenderAction, sender: string): Promise<Item | undefined> {
    const command = new UpdateItemCommand({
      TableName: table,
      Key: key,
      UpdateExpression: `${action === 'allow' ? 'ADD' : 'DELETE'} senders :senders`,
      ExpressionAttributeValues: { ':senders': { SS: [sender] } },
      ReturnValues: 'ALL_NEW',
    });
    return (await client.send(command)).Attributes;
  }

  return {
    own_senders_only,

    async senders(tenant_id) {
      return toSenders(await getItem(client, table, sendersKey(tenant_id)));
    },

    async sendersAt(domain) {
      const entries = toSenders(await getItem(client, table, sendersAtKey(domain)));
      return [...new Set(entries.map((entry) => entry.slice(entry.lastIndexOf(' ') + 1)))];
    },

    async changeSenders(tenant_id, action, sender) {
      const ofDomain = () => changeSet(sendersAtKey(sender.replace(/^.*@/, '')), action, `${tenant_id} ${sender}`);
      // In this order, so that one that is cut off in between leaves the sender to nobody.
      if (action === 'allow') await ofDomain();
      const left = toSenders(await changeSet(sendersKey(tenant_id), action, sender));
      if (action === 'revoke') await ofDomain();
      return left;
    },

    async put(newsletter, known_at) {
      const { tenant_id, newsletter_id, created_at, ...rest } = newsletter;
      const key = toItem({ tenant_id, newsletter_id });
      const change = { set: rest, once: { created_at }, remove: OPTIONAL.filter((name) => rest[name] === undefined) };
      const guards = known_at === undefined ? [] : [ofTime(known_at)];
      const { applied, item } = await updateItem(client, table, key, { ...change, returned: 'ALL_NEW' }, guards);
      const stored = toNewsletter(item ?? (await getItem(client, table, key)) ?? {});
      // Who asks again, as the answer was lost, asks at another time for what is stored: that is no conflict.
      const asked = { ...change, set: { ...rest, updated_at: undefined } };
      return applied || shows(stored, asked) ? stored : undefined;
    },

    async read(tenant_id, newsletter_id) {
      const item = await getItem(client, table, toItem({ tenant_id, newsletter_id }));
      return item && toNewsletter(item);
    },

    async list(tenant_id, { after, limit } = {}) {
      const range = after === undefined ? undefined : (['newsletter_id', '>', after] as const);
      const found: Newsletter[] = [];
      const asked = { table, key: { tenant_id }, range, consistent: true, ...(limit !== undefined && { limit }) };
      for await (const { items } of queryPages(client, asked)) {
        found.push(...items.map(toNewsletter).filter(({ newsletter_id }) => !newsletter_id.startsWith(SENDERS)));
        if (limit !== undefined && found.length >= limit) break;
      }
      return found.slice(0, limit);
    },
  };
}

const toNewsletter = (item: Item): Newsletter => unmarshall(item) as Newsletter;

const toSenders = (item: Item | undefined): readonly string[] => [...(item?.['senders']?.SS ?? [])].sort();
