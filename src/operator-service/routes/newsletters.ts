import { type DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import * as v from 'valibot';
import { toItem } from '../../adapters/dynamodb/table/item.ts';
import type { Newsletter } from '../../core/newsletter/model/email.ts';
import { shownResolved } from '../../core/newsletter/views/email-view.ts';
import { listRecipients } from '../../core/newsletter/views/list-recipients.ts';
import { decideOnce } from '../audit.ts';
import {
  EMAIL_ACTIONS,
  emailActionBody,
  emailsQuery,
  newslettersQuery,
  recipientsQuery,
  resolveBody,
} from '../contract/newsletters.ts';
import { emailPlace, fromCursor, placeOf, recipientCursor, recipientPlace, toCursor } from '../cursor.ts';
import type { OperatorDeps } from '../deps.ts';
import {
  decideEmail,
  type EmailAccess,
  emailAccess,
  emailDetail,
  listEmails,
  requireEmail,
  resolveUncertain,
} from '../emails.ts';
import { type RouteTable, route } from '../route.ts';

const PAGE = 50;
const text = v.pipe(v.string(), v.minLength(1), v.maxLength(100));
const place = v.strictObject({ tenant_id: text, newsletter_id: text });

/** Newsletters, and their emails with live counts, recipients by state, and what operators decide about them. */
export function newsletterRoutes(deps: OperatorDeps): RouteTable {
  // Made on use: a stage may do without newsletters, and its other routes answer.
  let made: EmailAccess | undefined;
  const access = () => {
    made ??= emailAccess(deps);
    return made;
  };
  const acts = EMAIL_ACTIONS.map((action) => {
    const key = `POST /api/emails/{email_id}/${action}` as const;
    const handler = route(key, emailActionBody, async (request) => {
      const { email_id = '' } = request.path;
      const { status } = await decideEmail(email_id, action, access(), decideOnce(key, request, deps));
      return { email_id, status };
    });
    return [key, handler] as const;
  });

  return {
    'GET /api/newsletters': route('GET /api/newsletters', newslettersQuery, async ({ input }) => {
      if (input.tenant !== undefined) {
        return { newsletters: await access().newsletters.list(input.tenant), next_cursor: null };
      }
      const after = fromCursor(placeOf(place), input.cursor);
      return listAll(deps.dynamodb, deps.deployment.tables.newsletters, after);
    }),
    'GET /api/emails': route('GET /api/emails', emailsQuery, async ({ input }) => {
      const { emails, next } = await listEmails(input.tenant, fromCursor(emailPlace, input.cursor), access());
      return { emails, next_cursor: toCursor(next) };
    }),
    'GET /api/emails/{email_id}': route('GET /api/emails/{email_id}', v.strictObject({}), ({ path }) =>
      emailDetail(path['email_id'] ?? '', access(), deps.local),
    ),
    'GET /api/emails/{email_id}/recipients': route(
      'GET /api/emails/{email_id}/recipients',
      recipientsQuery,
      async ({ input, path }) => {
        const { state, limit } = input;
        const from = fromCursor(recipientPlace, input.cursor);
        const { email_id } = await requireEmail(path['email_id'] ?? '', access());
        const wanted = { email_id, limit, identities: false, ...(state && { state }), ...(from && { from }) };
        const { recipients, next } = await listRecipients(wanted, access());
        return { recipients, next_cursor: recipientCursor(next) };
      },
    ),
    ...Object.fromEntries(acts),
    'POST /api/emails/{email_id}/resolve': route(
      'POST /api/emails/{email_id}/resolve',
      resolveBody,
      async (request) => {
        const decide = decideOnce('POST /api/emails/{email_id}/resolve', request, deps);
        const { path, input } = request;
        const { email_id, status, ...reached } = await resolveUncertain(
          path['email_id'] ?? '',
          input.action,
          access(),
          decide,
        );
        return { email_id, status, ...shownResolved(reached) };
      },
    ),
  };
}

/** Newsletters are few: a scan of their small table, page by page. */
async function listAll(client: DynamoDBClient, TableName: string, after: v.InferOutput<typeof place> | undefined) {
  const { Items = [], LastEvaluatedKey } = await client.send(
    new ScanCommand({ TableName, Limit: PAGE, ...(after && { ExclusiveStartKey: toItem(after) }) }),
  );
  const next = LastEvaluatedKey && unmarshall(LastEvaluatedKey);
  return {
    newsletters: Items.map((item) => unmarshall(item) as Newsletter),
    next_cursor: toCursor(next),
  };
}
