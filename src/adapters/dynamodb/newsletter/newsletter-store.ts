import { type DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { shows } from '../../../core/model/row-change.ts';
import type { Newsletter } from '../../../core/newsletter/model/email.ts';
import type { NewsletterStore } from '../../../core/newsletter/model/ports.ts';
import { SENDERS_PREFIX } from '../schema.ts';
import { updateItem } from '../table/guarded-update.ts';
import { ofTime } from '../table/guards.ts';
import { type Item, toItem } from '../table/item.ts';
import { getItem, queryPages } from '../table/reads.ts';

const OPTIONAL = [
  'reply_to',
  'sending_domain',
  'fallback_domain',
  'track',
] as const satisfies readonly (keyof Newsletter)[];

/** No newsletter is called so. */
const SENDERS = '@';

/** The item with the senders of a tenant, under a key that no newsletter has. */
const sendersKey = (tenant_id: string) => ({
  tenant_id: { S: `${SENDERS_PREFIX}${tenant_id}` },
  newsletter_id: { S: SENDERS },
});

export function createNewsletterStore(client: DynamoDBClient, table: string): NewsletterStore {
  return {
    async senders(tenant_id) {
      return toSenders(await getItem(client, table, sendersKey(tenant_id)));
    },

    async changeSenders(tenant_id, action, sender) {
      const command = new UpdateItemCommand({
        TableName: table,
        Key: sendersKey(tenant_id),
        UpdateExpression: `${action === 'allow' ? 'ADD' : 'DELETE'} senders :senders`,
        ExpressionAttributeValues: { ':senders': { SS: [sender] } },
        ReturnValues: 'ALL_NEW',
      });
      return toSenders((await client.send(command)).Attributes);
    },

    async put(newsletter, known_at) {
      const { tenant_id, newsletter_id, created_at, ...rest } = newsletter;
      const key = toItem({ tenant_id, newsletter_id });
      const change = { set: rest, once: { created_at }, remove: OPTIONAL.filter((name) => rest[name] === undefined) };
      const guards = known_at === undefined ? [] : [ofTime(known_at)];
      const { applied, item } = await updateItem(client, table, key, change, guards, 'ALL_NEW');
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
        found.push(...items.map(toNewsletter).filter(({ newsletter_id }) => newsletter_id !== SENDERS));
        if (limit !== undefined && found.length >= limit) break;
      }
      return found.slice(0, limit);
    },
  };
}

const toNewsletter = (item: Item): Newsletter => unmarshall(item) as Newsletter;

const toSenders = (item: Item | undefined): readonly string[] => [...(item?.['senders']?.SS ?? [])].sort();
