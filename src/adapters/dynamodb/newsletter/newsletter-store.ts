import { type DynamoDBClient, GetItemCommand, paginateQuery, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { Newsletter } from '../../../core/newsletter/model/email.ts';
import type { NewsletterStore } from '../../../core/newsletter/model/ports.ts';
import { ifConditionHolds, updateExpression } from '../table/calls.ts';
import { conditionOf } from '../table/guarded-update.ts';
import { hasOthers } from '../table/guards.ts';
import type { Item } from '../table/item.ts';

const OPTIONAL = [
  'reply_to',
  'sending_domain',
  'fallback_domain',
  'track',
] as const satisfies readonly (keyof Newsletter)[];

/** The item with the senders of a tenant, under a key that no newsletter has. */
const sendersKey = (tenant_id: string) => ({ tenant_id: { S: `senders#${tenant_id}` }, newsletter_id: { S: '@' } });

/** NewsletterStore on the table newsletters. */
export function createNewsletterStore(client: DynamoDBClient, table: string): NewsletterStore {
  return {
    async senders(tenant_id) {
      const Key = sendersKey(tenant_id);
      const { Item } = await client.send(new GetItemCommand({ TableName: table, Key, ConsistentRead: true }));
      return toSenders(Item);
    },

    async changeSenders(tenant_id, action, sender) {
      const values = { ':senders': { SS: [sender] } };
      const command = new UpdateItemCommand({
        TableName: table,
        Key: sendersKey(tenant_id),
        UpdateExpression: `${action === 'allow' ? 'ADD' : 'DELETE'} senders :senders`,
        ...(action === 'revoke' ? conditionOf([hasOthers(sender)], { values }) : { ExpressionAttributeValues: values }),
        ReturnValues: 'ALL_NEW',
      });
      const changed = await ifConditionHolds(client.send(command), undefined);
      return changed && toSenders(changed.Attributes);
    },

    async put({ tenant_id, newsletter_id, created_at, ...rest }) {
      const { expression, names, values } = updateExpression({
        set: rest,
        remove: OPTIONAL.filter((name) => rest[name] === undefined),
      });
      const { Attributes = {} } = await client.send(
        new UpdateItemCommand({
          TableName: table,
          Key: { tenant_id: { S: tenant_id }, newsletter_id: { S: newsletter_id } },
          UpdateExpression: expression.replace('SET ', 'SET created_at = if_not_exists(created_at, :created), '),
          ExpressionAttributeNames: names,
          ExpressionAttributeValues: { ...values, ':created': { S: created_at } },
          ReturnValues: 'ALL_NEW',
        }),
      );
      return toNewsletter(Attributes);
    },

    async read(tenant_id, newsletter_id) {
      const Key = { tenant_id: { S: tenant_id }, newsletter_id: { S: newsletter_id } };
      const { Item } = await client.send(new GetItemCommand({ TableName: table, Key, ConsistentRead: true }));
      return Item && toNewsletter(Item);
    },

    async list(tenant_id) {
      const query = {
        TableName: table,
        KeyConditionExpression: 'tenant_id = :tenant',
        ExpressionAttributeValues: { ':tenant': { S: tenant_id } },
        ConsistentRead: true,
      };
      const found: Newsletter[] = [];
      for await (const { Items = [] } of paginateQuery({ client }, query)) found.push(...Items.map(toNewsletter));
      return found;
    },
  };
}

function toNewsletter(item: Item): Newsletter {
  return unmarshall(item) as Newsletter;
}

function toSenders(item: Item | undefined): readonly string[] {
  return [...(item?.['senders']?.SS ?? [])].sort();
}
