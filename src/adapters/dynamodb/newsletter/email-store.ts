import { randomUUID } from 'node:crypto';
import type { DynamoDBClient, TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { unavailable } from '../../../core/model/problem.ts';
import type { Guard } from '../../../core/model/row-change.ts';
import { type Clock, expiresAt } from '../../../core/model/time.ts';
import type { DryRunStore, KeptDryRun } from '../../../core/newsletter/lifecycle/dry-run.ts';
import type { Email, EmailContent } from '../../../core/newsletter/model/email.ts';
import type { EmailStore } from '../../../core/newsletter/model/ports.ts';
import { ACTIVE_EMAILS_INDEX, TENANT_EMAILS_INDEX } from '../schema.ts';
import { type Item, toItem } from '../table/item.ts';
import { getItem, getItems, MAX_GETS, pause, query } from '../table/reads.ts';
import { changeVersioned, conditionOf, ofVersion, putGuarded, transact, updateExpression } from '../table/writes.ts';

const PAGE = 50;
/** Transactions until one meets no other: the SDK repeats none. */
const TRIES = 4;
const ROW = 'row';
const CONTENT = 'content';
/** The value of `active`: few emails are active at once, so one partition is enough. */
const ACTIVE = 'active';

/** How much longer the content is kept than the row, which is kept longer where a mailing is paused or failed for a time. */
const RESTS_S = 365 * 86_400;

const keyOf = (email_id: string, part: string) => ({ email_id: { S: email_id }, part: { S: part } });

/** EmailStore on the table emails: the row and the content of an email are two items. */
export function createEmailStore(client: DynamoDBClient, table: string, clock: Clock): EmailStore {
  const read = async (email_id: string): Promise<Email | undefined> => {
    const item = await getItem(client, table, keyOf(email_id, ROW));
    return item && toEmail(item);
  };

  /** The content of an email with a write of its row, both or none. @returns undefined where another write came first */
  async function withContent(
    { email_id, expires_at }: Email,
    content: EmailContent,
    row: Pick<TransactWriteItem, 'Put' | 'Update'>,
  ): Promise<Email | undefined> {
    const Put = {
      TableName: table,
      Item: toItem({ ...content, email_id, part: CONTENT, expires_at: expires_at + RESTS_S }),
    };
    return (await transact(client, [row, { Put }])) ? read(email_id) : undefined;
  }

  return {
    read,
    ...emailLists(client, table),

    async create(email, content) {
      const isNew = conditionOf([[['email_id', '=', undefined]]]);
      const Put = { TableName: table, Item: toItem({ ...email, part: ROW }), ...isNew };
      // One after the other, the row of a request would keep the content of one that crashed in between.
      for (let tries = 1; tries <= TRIES; tries++) {
        const kept = (await withContent(email, content, { Put })) ?? (await read(email.email_id));
        if (kept !== undefined) return kept;
        // The transaction of another request under this key is under way: its row is not there yet.
        await pause(tries);
      }
      throw unavailable();
    },

    async content(email_id) {
      const item = await getItem(client, table, keyOf(email_id, CONTENT));
      if (item === undefined) return undefined;
      const { email_id: _, part: __, expires_at: ___, ...content } = unmarshall(item);
      return content as EmailContent;
    },

    change: (email, { set, remove = [] }) =>
      changeVersioned(client, {
        table,
        key: keyOf(email.email_id, ROW),
        was: email,
        change: { set: { ...set, updated_at: clock().toISOString() }, remove },
        fromItem: toEmail,
      }),

    replace(email, { set, remove = [] }, content) {
      const next = { ...set, updated_at: clock().toISOString(), version: email.version + 1 };
      const { expression: UpdateExpression, ...update } = updateExpression({ set: next, remove: remove.map(String) });
      const condition = conditionOf([ofVersion(email)], update);
      const Update = { TableName: table, Key: keyOf(email.email_id, ROW), UpdateExpression, ...condition };
      return withContent({ ...email, ...(set.expires_at && { expires_at: set.expires_at }) }, content, { Update });
    },
  };
}

/** The indexes tell which emails; each is read as it is. */
function emailLists(client: DynamoDBClient, table: string): Pick<EmailStore, 'list' | 'due'> {
  const rows = async (found: readonly Item[]): Promise<ReadonlyMap<string, Email>> => {
    const ids = [...new Set(found.flatMap(({ email_id }) => email_id?.S ?? []))];
    const keys = ids.map((email_id) => keyOf(email_id, ROW));
    const items = keys.length === 0 ? [] : await getItems(client, table, keys, { consistent: true });
    return new Map(items.map(toEmail).map((email) => [email.email_id, email]));
  };
  return {
    async list(tenant_id, cursor) {
      const { items, next } = await query(client, {
        table,
        index: TENANT_EMAILS_INDEX,
        key: { tenant_id },
        backwards: true,
        limit: PAGE,
        after: cursor === undefined ? undefined : cursorKey(tenant_id, cursor),
      });
      const byId = await rows(items);
      const emails = items.flatMap(({ email_id }) => byId.get(email_id?.S ?? '') ?? []);
      const last = next && unmarshall(next);
      return { emails, ...(last && { next_cursor: `${last['created_at']} ${last['email_id']}` }) };
    },

    async due(now, limit) {
      const { items } = await query(client, {
        table,
        index: ACTIVE_EMAILS_INDEX,
        key: { active: ACTIVE },
        limit: Math.min(limit, MAX_GETS),
        range: ['next_at', '<=', now],
      });
      const byId = await rows(items);
      return items.flatMap(({ email_id }) => {
        const email = byId.get(email_id?.S ?? '');
        // The index may be behind the row.
        return email?.next_at !== undefined && email.next_at <= now ? [email] : [];
      });
    },
  };
}

/** `<created_at> <email_id>`; the tenant comes from the request, so that a cursor shows no other tenant's emails. */
function cursorKey(tenant_id: string, cursor: string): Item {
  const [created_at = '', email_id = ''] = cursor.split(' ');
  return toItem({ tenant_id, created_at, email_id, part: ROW });
}

function toEmail(item: Item): Email {
  const { part: _, ...email } = unmarshall(item);
  return email as Email;
}

const DRY_RUN = 'dry-run';
const DRY_RUN_DAYS = 1;

/** DryRunStore on the table emails, beside what would be the rows of the email. */
export function createDryRunStore(client: DynamoDBClient, table: string, clock: Clock): DryRunStore {
  const nowInSeconds = () => clock().getTime() / 1000;
  return {
    async put({ email_id, version: _, ...run }, was) {
      const version = randomUUID();
      const before: readonly Guard[] =
        was?.version === undefined
          ? [[['version', '=', undefined]], [['expires_at', '<=', nowInSeconds()]]]
          : [[['version', '=', was.version]]];
      // In one attribute: an item with tenant and time would be in the index of the tenant's emails.
      const item = toItem({ email_id, part: DRY_RUN, run, version, expires_at: expiresAt(clock(), DRY_RUN_DAYS) });
      // The client repeats a write whose answer was lost.
      return (await putGuarded(client, table, item, [...before, [['version', '=', version]]])).applied;
    },
    async read(email_id) {
      const item = await getItem(client, table, { email_id: { S: email_id }, part: { S: DRY_RUN } });
      if (item === undefined) return undefined;
      const { run, version, expires_at } = unmarshall(item);
      // DynamoDB removes what has expired within days, not at once.
      return Number(expires_at) > nowInSeconds() ? ({ email_id, version, ...run } as KeptDryRun) : undefined;
    },
  };
}
