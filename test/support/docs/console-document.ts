import type { AnyRoute } from '../../../src/application/route.ts';
import { PROBLEMS, type ProblemName, problemType } from '../../../src/core/model/problem.ts';
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

const STATUSES = [...new Set(Object.values(PROBLEMS).map(({ status }) => status))];

type Described = Omit<AnyRoute, 'handle'>;

/** The routes of the console as OpenAPI, made from the schemas that check requests, and from those of the answers. */
export function consoleDocument(routes: readonly Described[]): Json {
  const answers = routes.map((route) => [answerName(route, routes), schemaOf(route.answer)]);
  return {
    ...documentHead('notification-retry console', 'What the console of operators reads and does.'),
    security: [{ token: [] }],
    tags: [
      { name: 'viewer', description: 'A viewer may call it, and an operator' },
      { name: 'operator', description: 'Only an operator may call it' },
    ],
    paths: pathsOf(routes, (route) => operation(route, routes)),
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description:
            'The access token of the issuer. On loopback the token of the URL’s fragment, or the cookie for it; none at the local runtime',
        },
      },
      schemas: { ...Object.fromEntries(answers), Problem: PROBLEM },
      responses: refusals(),
    },
  };
}

function operation(route: Described, routes: readonly Described[]): Json {
  const { key, operation_id, summary, role, takes } = route;
  const isRead = key.startsWith('GET ');
  const parameters = [...pathParameters(key, { type: 'string' }), ...(isRead ? queryParameters(takes) : [])];
  return {
    tags: [role],
    operationId: operation_id,
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(!isRead && { requestBody: { required: true, content: jsonContent(schemaOf(takes)) } }),
    responses: {
      200: { description: 'Done', content: jsonContent(reference(answerName(route, routes))) },
      ...(isRead && { 304: { description: 'Nothing has changed since the answer with the ETag of If-None-Match' } }),
      // Any route may answer with each of them.
      ...Object.fromEntries(STATUSES.map((status) => [status, { $ref: `#/components/responses/${status}` }])),
    },
  };
}

/** Routes with the same answer share its schema. */
function answerName({ answer }: Described, routes: readonly Described[]): string {
  const { operation_id = '' } = routes.find((route) => route.answer === answer) ?? {};
  return `${operation_id.charAt(0).toUpperCase()}${operation_id.slice(1)}Answer`;
}

function refusals(): Json {
  const byStatus = Map.groupBy(Object.values(PROBLEMS), ({ status }) => status);
  const content = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
  const answers = [...byStatus].map(([status, of]) => [
    status,
    { description: of.map(({ title }) => title).join('. '), content },
  ]);
  return Object.fromEntries(answers);
}

/** RFC 9457, and what a person does about it. */
const PROBLEM = {
  type: 'object',
  properties: {
    type: { type: 'string', enum: (Object.keys(PROBLEMS) as ProblemName[]).map(problemType) },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        properties: { path: { type: 'string' }, rule: { type: 'string' }, message: { type: 'string' } },
        required: ['path', 'rule', 'message'],
        additionalProperties: false,
      },
    },
    remedy: { type: 'string', description: 'What a person does about it' },
    command: { type: 'string', description: 'The line for the shell that does the same, or shows more' },
  },
  required: ['type', 'title', 'status', 'detail', 'remedy'],
  additionalProperties: false,
} as const;
