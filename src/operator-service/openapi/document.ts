import type * as v from 'valibot';
import { PROBLEMS, type ProblemName, problemType } from '../../core/model/problem.ts';
import { schemaOf } from '../../http/openapi.ts';
import { needsOperator, type RouteKey } from '../contract/routes.ts';
import type { AnyRoute } from '../route.ts';
import { ANSWERS } from './answer-schemas.ts';
import { SUMMARIES } from './summaries.ts';

type Json = Readonly<Record<string, unknown>>;

const KEYS = Object.keys(ANSWERS) as RouteKey[];
const STATUSES = [...new Set(Object.values(PROBLEMS).map(({ status }) => status))];

/**
 * The routes of the console as OpenAPI, made from the schemas that check requests, and from those of the answers.
 * @param routes as the server answers them
 */
export function consoleDocument(routes: Readonly<Record<RouteKey, AnyRoute>>): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const key of KEYS) {
    const [method = '', path = ''] = key.split(' ');
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation(key, path, routes[key].schema) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'notification-retry console',
      version: '1.0.0',
      summary: 'What the console of operators reads and does.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
    tags: [
      { name: 'viewer', description: 'A viewer may call it, and an operator' },
      { name: 'operator', description: 'Only an operator may call it' },
    ],
    paths,
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description:
            'The access token of the issuer. On loopback the token of the URL’s fragment, or the cookie for it; none at the local runtime',
        },
      },
      schemas: { ...answerSchemas(), Problem: PROBLEM },
      responses: refusals(),
    },
  };
}

function operation(key: RouteKey, path: string, schema: v.GenericSchema): Json {
  const isRead = key.startsWith('GET ');
  const { operationId, summary } = SUMMARIES[key];
  const parameters = [...pathParameters(path), ...(isRead ? queryParameters(schema) : [])];
  return {
    tags: [needsOperator(key) ? 'operator' : 'viewer'],
    operationId,
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(!isRead && { requestBody: { required: true, content: { 'application/json': { schema: schemaOf(schema) } } } }),
    responses: {
      200: {
        description: 'Done',
        content: { 'application/json': { schema: { $ref: `#/components/schemas/${answerName(key)}` } } },
      },
      ...(isRead && { 304: { description: 'Nothing has changed since the answer with the ETag of If-None-Match' } }),
      // Any route may answer with each of them.
      ...Object.fromEntries(STATUSES.map((status) => [status, { $ref: `#/components/responses/${status}` }])),
    },
  };
}

/** Routes with the same answer share its schema. */
function answerSchemas(): Json {
  return Object.fromEntries(KEYS.map((key) => [answerName(key), schemaOf(ANSWERS[key])]));
}

function answerName(key: RouteKey): string {
  const first = KEYS.find((other) => ANSWERS[other] === ANSWERS[key]) ?? key;
  const { operationId } = SUMMARIES[first];
  return `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Answer`;
}

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function queryParameters(schema: v.GenericSchema): Json[] {
  const { properties = {}, required = [] } = schemaOf(schema) as {
    properties?: Readonly<Record<string, Json>>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, of]) => ({
    name,
    in: 'query',
    ...(required.includes(name) && { required: true }),
    schema: of,
  }));
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
