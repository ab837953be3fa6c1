import { type DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import * as v from 'valibot';
import {
  emailCursor,
  recipientCursor,
  recipientPlace,
  toCursor as textCursor,
} from '../../adapters/api/email-cursors.ts';
import { emailAccess } from '../../adapters/deployment/email-access.ts';
import { toItem } from '../../adapters/dynamodb/table/item.ts';
import { Problem } from '../../core/model/problem.ts';
import { cancelEmail, pauseEmail, resumeEmail, retryEmail } from '../../core/newsletter/lifecycle/operate.ts';
import { resolveEmail } from '../../core/newsletter/lifecycle/resolve.ts';
import type { Email, Newsletter } from '../../core/newsletter/model/email.ts';
import { type EmailPhase, emailSummary, emailView, shownResolved } from '../../core/newsletter/views/email-view.ts';
import { listRecipients } from '../../core/newsletter/views/list-recipients.ts';
import { budgetStatus } from '../../core/pacing/budget-status.ts';
import { decide } from '../audited.ts';
import {
  EMAIL_ACTIONS,
  type EmailAction,
  type EmailDetail,
  emailActionBody,
  emailsQuery,
  newslettersQuery,
  recipientsQuery,
  resolveBody,
} from '../contract/newsletters.ts';
import { shellCommand } from '../contract/shell-command.ts';
import { fromCursor, toCursor } from '../cursor.ts';
import type { ConsoleDeps } from '../deps.ts';
import { type Checked, type RouteTable, route } from '../route.ts';

const PAGE = 50;
const text = v.pipe(v.string(), v.minLength(1), v.maxLength(100));
const place = v.strictObject({ tenant_id: text, newsletter_id: text });

const ACTS = { retry: retryEmail, pause: pauseEmail, resume: resumeEmail, cancel: cancelEmail } as const;

/** Newsletters, and their emails with live counts, recipients by state, and what operators decide about them. */
export function newsletterRoutes(deps: ConsoleDeps): RouteTable {
  const access = emailAccess(deps);

  /** @throws Problem not-found */
  async function find({ path }: Pick<Checked<object>, 'path'>): Promise<Email> {
    const { email_id = '' } = path;
    const email = /^[\w-]{1,50}$/.test(email_id) ? await access.emails.read(email_id) : undefined;
    if (email === undefined) throw new Problem('not-found', 'There is no email with this id.');
    return email;
  }

  async function detail(email: Email): Promise<EmailDetail> {
    const [batches, events, registers, content] = await Promise.all([
      access.batches.list(email.email_id),
      access.events.list(email.email_id),
      access.budgets.read('email'),
      access.emails.content(email.email_id),
    ]);
    const now = deps.clock();
    const isKnown = Object.keys(registers).length > 0;
    const allowed = isKnown ? budgetStatus('email', registers, now).per_second : null;
    const view = emailView({ email, batches, events }, now, allowed ?? undefined);
    const command = (what: string) => shellCommand(`emails ${what}`, deps.local, [email.email_id]);
    return {
      tenant_id: email.tenant_id,
      subject: content?.subject ?? null,
      email: view,
      actions: actionsIn(view.phase),
      commands: [
        { label: 'Follow', command: `${command('status')} --watch` },
        { label: 'Recipients', command: command('recipients') },
        ...actionsIn(view.phase).map((act) => ({ label: act, command: command(act) })),
      ],
    };
  }

  const acts = EMAIL_ACTIONS.map((act) => {
    const key = `POST /api/emails/{email_id}/${act}` as const;
    const handler = route(key, emailActionBody, async (request) => {
      const { email_id } = await find(request);
      const decision = { what: `email.${act}`, on: [email_id] };
      const { answer } = await decide(key, request, decision, deps, async () => {
        const { status } = await ACTS[act](email_id, access);
        return { answer: { email_id, status }, result: { accepted: 1 } };
      });
      return answer;
    });
    return [key, handler] as const;
  });

  return {
    'GET /api/newsletters': route('GET /api/newsletters', newslettersQuery, async ({ input }) => {
      if (input.tenant !== undefined) {
        return { newsletters: await access.newsletters.list(input.tenant), next_cursor: null };
      }
      return listAll(deps.dynamodb, deps.deployment.tables.newsletters, fromCursor(place, input.cursor));
    }),
    'GET /api/emails': route('GET /api/emails', emailsQuery, async ({ input }) => {
      const { emails, next_cursor } = await access.emails.list(input.tenant, emailCursor(input.cursor));
      const now = deps.clock();
      return { emails: emails.map((email) => emailSummary(email, now)), next_cursor: textCursor(next_cursor) };
    }),
    'GET /api/emails/{email_id}': route('GET /api/emails/{email_id}', v.strictObject({}), async (request) =>
      detail(await find(request)),
    ),
    'GET /api/emails/{email_id}/recipients': route(
      'GET /api/emails/{email_id}/recipients',
      recipientsQuery,
      async (request) => {
        const { state, limit } = request.input;
        const from = recipientCursor(request.input.cursor);
        const { email_id } = await find(request);
        const wanted = { email_id, limit, identities: false, ...(state && { state }), ...(from && { from }) };
        const { recipients, next } = await listRecipients(wanted, access);
        return { recipients, next_cursor: textCursor(recipientPlace(next)) };
      },
    ),
    ...Object.fromEntries(acts),
    'POST /api/emails/{email_id}/resolve': route(
      'POST /api/emails/{email_id}/resolve',
      resolveBody,
      async (request) => {
        const { email_id } = await find(request);
        const { action } = request.input;
        const decision = { what: `email.resolve.${action}`, on: [email_id] };
        const { answer } = await decide('POST /api/emails/{email_id}/resolve', request, decision, deps, async () => {
          const { email, ...reached } = await resolveEmail(email_id, action, access);
          const { continued: _, waiting_until: __, ...result } = shownResolved(reached);
          return { answer: { email_id, status: email.status, ...shownResolved(reached) }, result };
        });
        return answer;
      },
    ),
  };
}

/** What the use cases accept in a phase; they refuse the rest themselves. */
function actionsIn(phase: EmailPhase): EmailAction[] {
  switch (phase) {
    case 'scheduled':
    case 'queued':
      return ['pause', 'cancel'];
    case 'preparing':
    case 'sending':
    case 'waiting':
      return ['pause', 'cancel'];
    case 'paused':
      return ['resume', 'cancel'];
    case 'failed':
      return ['retry'];
    default:
      return [];
  }
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
