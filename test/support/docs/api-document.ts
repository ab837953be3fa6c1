import * as v from 'valibot';
import * as responses from '../../../src/application/contract/api/answers.ts';
import * as emails from '../../../src/application/contract/api/emails.ts';
import * as requests from '../../../src/application/contract/api/intake.ts';
import * as newsletters from '../../../src/application/contract/api/newsletters.ts';
import type { PublicRoute } from '../../../src/application/contract/api/routes.ts';
import * as tokens from '../../../src/application/contract/api/tokens.ts';
import * as answers from '../../../src/application/contract/emails.ts';
import { SCOPES } from '../../../src/core/intake/api-scopes.ts';
import { PROBLEMS, type ProblemName } from '../../../src/core/model/problem.ts';
import {
  documentHead,
  type Json,
  jsonContent,
  pathParameters,
  pathsOf,
  queryParameters,
  reference,
  schemaOf,
} from './openapi.ts';

/** The document's components/schemas: the API's own schemas, by the names that generated clients give their types. */
const SCHEMAS = {
  Notification: requests.notificationSchema,
  Batch: requests.batchSchema,
  Failure: requests.failureSchema,
  Accepted: responses.accepted,
  BatchResults: responses.batchResults,
  NotificationState: responses.notificationState,
  NotificationList: responses.notificationList,
  TokenRequest: tokens.tokenSchema,
  Token: tokens.tokenAnswer,
  Newsletter: newsletters.newsletterSchema,
  NewsletterState: newsletters.newsletterAnswer,
  NewsletterList: newsletters.newsletterList,
  Members: newsletters.membersSchema,
  MemberResults: newsletters.memberResults,
  MemberState: newsletters.memberAnswer,
  MemberList: newsletters.memberList,
  DeletedMember: newsletters.deletedMember,
  Resubscription: newsletters.resubscribeSchema,
  Email: emails.emailSchema,
  ReplacedEmail: emails.replaceSchema,
  TestedEmail: emails.draftTestSchema,
  PreviewedEmail: emails.previewSchema,
  PreviewOfEmail: emails.emailPreviewSchema,
  MailPreview: answers.mailPreview,
  AcceptedEmail: answers.acceptedEmail,
  AcceptedEmailOrDryRun: answers.acceptedOrDryRun,
  DryRun: answers.dryRunAnswer,
  EmailState: answers.emailState,
  EmailList: answers.emailList,
  EmailBatchList: answers.emailBatchList,
  RecipientList: answers.recipientList,
  TestMail: emails.testSchema,
  TestResults: answers.testResults,
  Resolution: emails.resolveSchema,
  ResolvedEmail: answers.resolvedEmail,
  Problem: responses.problem,
  /** Refusals of API Gateway itself, before it calls a function. */
  GatewayRefusal: v.object({ message: v.string() }),
} as const satisfies Readonly<Record<string, v.GenericSchema>>;

/** Lists whose items are checked one by one, so that a bad one stops no other. */
const ITEMS = new Map<v.GenericSchema, readonly [list: string, item: v.GenericSchema]>([
  [requests.batchSchema, ['notifications', requests.batchItemSchema]],
  [newsletters.membersSchema, ['members', newsletters.memberSchema]],
]);

/** The document at /v1/openapi.json. A test writes it to docs/reference/api.json, from where it is answered. */
export function apiDocument(routes: readonly PublicRoute[]): Json {
  return {
    ...documentHead(
      'notification-retry',
      'Accepts notifications and retries them until they are delivered, exhausted or pointless.',
    ),
    security: [{ api_key: [] }],
    tags: [
      ...SCOPES.map((name) => ({ name, description: `Needs a key with the scope ${name}` })),
      { name: 'tokens', description: 'Needs a key with the scopes of what the token may do' },
    ],
    paths: pathsOf(routes, operation),
    components: {
      securitySchemes: { api_key: { type: 'http', scheme: 'bearer', bearerFormat: 'nrk_<key_id>_<secret>' } },
      schemas: Object.fromEntries(Object.entries(SCHEMAS).map(([name, schema]) => [name, component(schema)])),
    },
  };
}

function component(schema: v.GenericSchema): Json {
  // Generated clients give each type one name.
  if (isUnion(schema)) return { anyOf: schema.options.map(named) };
  const [list, item] = ITEMS.get(schema) ?? [];
  if (list === undefined || item === undefined) return schemaOf(schema);
  const { properties, ...rest } = schemaOf(schema) as { properties: Readonly<Record<string, Json>> };
  return { ...rest, properties: { ...properties, [list]: { ...properties[list], items: schemaOf(item) } } };
}

function isUnion(schema: v.GenericSchema): schema is v.UnionSchema<v.UnionOptions, undefined> {
  return schema.type === 'union';
}

/** @throws Error for a schema that has no name in SCHEMAS */
function named(schema: v.GenericSchema): Json {
  const [name] = Object.entries(SCHEMAS).find(([, one]) => one === schema) ?? [];
  if (name === undefined) throw new Error('the schema of a route has no name in SCHEMAS');
  return reference(name);
}

/** Problems that any request with a key can meet. */
const COMMON: readonly ProblemName[] = ['unauthenticated', 'forbidden', 'too-large', 'rate-limited', 'unavailable'];

function operation(route: PublicRoute): Json {
  const { key, operation_id, summary, scope, path, query, body, idempotency, answer, at_once, problems = [] } = route;
  const content = jsonContent(answer.schema === undefined ? { type: 'object' } : named(answer.schema));
  const { status, description, headers } = answer;
  const ok = {
    [status]: { description, content, ...(headers && { headers }) },
    ...(at_once && { 200: { description: at_once.description, content: jsonContent(named(at_once.schema)) } }),
  };
  if (scope === 'none') {
    const responses = { ...ok, ...refusals(['rate-limited', 'unavailable']) };
    return { operationId: operation_id, summary, security: [], responses };
  }
  const met: readonly ProblemName[] = [
    // API Gateway refuses a path that it cannot decode.
    ...(query === undefined && body === undefined && !key.includes('{') ? [] : ['invalid-request' as const]),
    ...(idempotency === undefined ? [] : ['idempotency-key-missing' as const]),
    ...problems,
    ...COMMON,
  ];
  return {
    tags: [scope === 'any' ? 'tokens' : scope],
    operationId: operation_id,
    summary,
    parameters: [
      ...pathParameters(key, { type: 'string', minLength: 1 }, path),
      ...(idempotency?.description === undefined ? [] : [keyParameter(idempotency)]),
      ...(query === undefined ? [] : queryParameters(query)),
    ],
    ...(body !== undefined && { requestBody: { required: true, content: jsonContent(named(body)) } }),
    responses: { ...ok, ...refusals(met) },
  };
}

function keyParameter({ needed, description }: NonNullable<PublicRoute['idempotency']>): Json {
  const schema = schemaOf(requests.idempotencyKey);
  return { name: 'Idempotency-Key', in: 'header', required: needed, description, schema };
}

/** One answer per status. A status that several problems share names them all. */
function refusals(names: readonly ProblemName[]): Json {
  const byStatus = Map.groupBy(names, (name) => PROBLEMS[name].status);
  const answers = [...byStatus].map(([status, same]) => [status, refusal(status, same)]);
  const description = 'API Gateway could not reach the service';
  return { ...Object.fromEntries(answers), 500: { description, content: jsonContent(reference('GatewayRefusal')) } };
}

/** Statuses that API Gateway also returns by itself, with its own body. */
const GATEWAY_STATUSES = new Set([400, 401, 413, 429, 503]);
const WITH_RETRY_AFTER: ReadonlySet<ProblemName> = new Set(['request-in-progress', 'rate-limited', 'unavailable']);
const RETRY_AFTER = { description: 'Whole seconds', schema: { type: 'integer', minimum: 1 } };

function refusal(status: number, names: readonly ProblemName[]): Json {
  return {
    description: names.map((name) => `${name}: ${PROBLEMS[name].title}`).join('. '),
    content: {
      'application/problem+json': { schema: reference('Problem') },
      ...(GATEWAY_STATUSES.has(status) && jsonContent(reference('GatewayRefusal'))),
    },
    ...(names.some((name) => WITH_RETRY_AFTER.has(name)) && { headers: { 'Retry-After': RETRY_AFTER } }),
  };
}
