import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openApi } from '../../../../functions/shared/api/notification-routes.ts';
import { API_ROUTES } from '../../../../src/application/contract/api/routes.ts';
import { CONSOLE_ROUTES } from '../../../../src/application/routes.ts';
import { PROBLEMS, type ProblemName, problemType } from '../../../../src/core/model/problem.ts';
import { pathSegment } from '../../../../src/http/paths.ts';
import { type ApiWorld, startApiWorld } from '../../../support/api/api-world.ts';
import { fromSchema, type JsonSchema, nearlyFromSchema } from '../../../support/api/json-schema-arbitrary.ts';
import { deadRow, storedRow } from '../../../support/cli/operations.ts';
import { apiDocument } from '../../../support/docs/api-document.ts';
import { consoleDocument } from '../../../support/docs/console-document.ts';
import { STAGES } from '../../../support/lib/stages.ts';
import { resourcesOf, templateOf } from '../../../support/lib/synthesize.ts';
import { PROJECT_ROOT } from '../../../support/project-root.ts';

interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: JsonSchema }[];
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> }>
  >;
}

const pathOf = ({ key }: { readonly key: string }) => key.slice(key.indexOf('/'));
const servedBy = (...functions: readonly string[]) => API_ROUTES.filter((one) => functions.includes(one.served_by));
const isDocument = ({ scope }: { readonly scope: string }) => scope === 'none';
const ROUTES = [
  ...servedBy('intake', 'notifications')
    .filter((one) => !isDocument(one))
    .sort((a, b) => (pathOf(a) < pathOf(b) ? -1 : pathOf(a) > pathOf(b) ? 1 : 0)),
  ...servedBy('tokens', 'newsletters', 'emails'),
  ...API_ROUTES.filter(isDocument),
];

const document = JSON.parse(JSON.stringify(apiDocument(ROUTES))) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
};
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true });
  });

  it('offers no newsletters where the stage has none, and tells of exactly the other routes', async () => {
    const body = await openApi({ newsletters: false });
    const { paths, tags } = body as { paths: object; tags: object };
    const routes = resourcesOf(templateOf(STAGES['without newsletters']), 'AWS::ApiGatewayV2::Route');
    const deployed = routes.map(({ properties }) => String(properties['RouteKey']).split(' ')[1]);
    expect(Object.keys(paths).sort()).toEqual([...new Set(deployed.filter((path) => path?.startsWith('/v1/')))].sort());
    expect(JSON.stringify(tags)).not.toContain('newsletters');
  });

  it('names no channel to send on that the stage does not have, and says why answers may name others', async () => {
    const body = await openApi({ channels: ['email', 'webhook'] });
    const { info, components } = body as typeof document & { info: { description?: string } };
    const channelsIn = (name: string) =>
      [...JSON.stringify(components.schemas[name]).matchAll(/"enum":(\["email".*?\])/g)].map(([, list = '']) =>
        JSON.parse(list),
      );
    for (const name of ['Notification', 'Batch']) {
      expect(channelsIn(name)).toEqual([
        ['email', 'webhook'],
        ['email', 'webhook'],
      ]);
    }
    expect(channelsIn('NotificationState')).toEqual([['email', 'slack', 'teams', 'webhook']]);
    expect(info.description).toBe(
      'This stage sends on email, webhook. Answers name other channels where their rows are left.',
    );
    expect(await openApi({})).toEqual(document);
  });

  it('tells of exactly the routes that are deployed, and that functions answer', () => {
    const documented = operations.map(({ method, path }) => `${method} ${path}`).sort();
    const routes = resourcesOf(templateOf({ stage: 'dev' }), 'AWS::ApiGatewayV2::Route');
    const deployed = routes
      .map(({ properties }) => properties['RouteKey'])
      .filter((key) => key !== '$default' && !String(key).endsWith(' /u/{token+}'));
    expect(deployed.sort()).toEqual(documented);
    expect(ROUTES.map(({ key }) => key).sort()).toEqual(documented);
  }, 60_000);

  it('is the one that is answered; after a change, `npx vitest run test/functions/shared/api/openapi.test.ts -u` writes it', async () => {
    const file = join(PROJECT_ROOT, 'docs', 'reference', 'api.json');
    await expect(`${JSON.stringify(document, undefined, 2)}\n`).toMatchFileSnapshot(file);
  });

  it.each(operations)('knows the 500 that API Gateway itself answers $method $path with', ({ operation }) => {
    const check = schemaFor(operation, 500, 'application/json');
    expect(check?.({ message: 'Internal Server Error' })).toBe(true);
  });

  it.each([
    ['the API', document],
    ['the console', consoleDocument(CONSOLE_ROUTES)],
  ])('of %s calls no number a text, so that generated clients take numbers', (_, given) => {
    const found: string[] = [];
    const walk = (value: unknown, at: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const { type, pattern } = value as { readonly type?: unknown; readonly pattern?: unknown };
      const form = typeof pattern === 'string' ? new RegExp(pattern) : /^/;
      if (type === 'string' && form.test('7') && !form.test('x')) found.push(at);
      for (const [name, inner] of Object.entries(value)) walk(inner, `${at}/${name}`);
    };
    walk(JSON.parse(JSON.stringify(given)), '');
    expect(found).toEqual([]);
  });

  it('of the API calls no time a text', () => {
    const found: string[] = [];
    const walk = (value: unknown, at: string): void => {
      if (typeof value !== 'object' || value === null) return;
      for (const [name, inner] of Object.entries(value)) {
        const { type, format } = (inner ?? {}) as { readonly type?: unknown; readonly format?: unknown };
        if (/(^|_)(at|until)$/.test(name) && type === 'string' && format !== 'date-time') found.push(`${at}/${name}`);
        walk(inner, `${at}/${name}`);
      }
    };
    walk(document, '');
    expect(found).toEqual([]);
  });

  it('tells of every problem there is', () => {
    const { Problem } = document.components.schemas;
    expect(Problem?.properties?.['type']?.enum).toEqual((Object.keys(PROBLEMS) as ProblemName[]).map(problemType));
  });
});

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addSchema({ $id: 'document', ...document });

const compiled = new Map<string, ValidateFunction>();

/** What the document says of such an answer; undefined when it does not know the status or content type. */
function schemaFor({ operationId, responses }: Operation, status: number, contentType: string) {
  const content = responses[status]?.content[contentType];
  if (content === undefined) return undefined;
  const name = `${operationId} ${status} ${contentType}`;
  const check = compiled.get(name) ?? ajv.compile(withReferences(content.schema));
  compiled.set(name, check);
  return check;
}

function withReferences(schema: JsonSchema): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"document#/components'));
}

/** Rows that their writers got wrong, as the indexer sets them aside. */
const aside = {
  tenant_id: 'tenant-1',
  send_status: 'FAILED',
  failure_reason: 'FORMAT_ERROR',
  error_type: 'FORMAT_ERROR',
};
const SET_ASIDE = [
  { ...aside, log_id: 'f-aside-1', notification_type: 'SMS', priority_level: 'HIGH', created_at: 'yesterday' },
  { ...aside, log_id: 'f-aside-2', notification_type: 7, priority_level: 'X', created_at: 9, retry_count: 'many' },
];

describe('whatever is asked', () => {
  let world: ApiWorld;
  const keys: string[] = [];
  const ids = ['f-due', 'f-dead', 'f-other', 'f-aside-1', 'f-aside-2', 'nobody'];
  const memberIds = Array.from({ length: 9 }, (_, i) => `m-${i}`);
  const emailIds: string[] = [];
  const idsOf: Readonly<Record<string, readonly string[]>> = {
    log_id: ids,
    member_id: [...memberIds, 'nobody'],
    newsletter_id: ['weekly', 'weekly', 'other'],
    email_id: emailIds,
  };

  beforeAll(async () => {
    world = await startApiWorld();
    keys.push((await world.key('tenant-1')).key, (await world.key('tenant-1', ['read'])).key, 'nrk_wrong', '');
    await world.put(storedRow('f-due'));
    await world.put(deadRow('f-dead'));
    await world.put(storedRow('f-other', { tenant_id: 'tenant-2' }));
    for (const row of SET_ASIDE) await world.put(row);
    const key = keys[0] ?? '';
    await world.call('PUT', '/v1/newsletters/weekly', { key, body: { name: 'Weekly', from: 'news@example.com' } });
    const members = memberIds.map((member_id) => ({ member_id, email: 'a@example.com', newsletters: ['weekly'] }));
    await world.call('POST', '/v1/members', { key, body: { members } });
    for (let i = 0; i < 4; i++) {
      const body = { newsletter_id: 'weekly', subject: 'S', body: 'B', format: 'text' };
      const answer = await world.call('POST', '/v1/emails', { key, body, headers: { 'idempotency-key': `e${i}` } });
      emailIds.push(answer.body.email_id);
    }
  }, 60_000);
  afterAll(() => world?.stop());

  it('and fails on our side for one item of a batch has a result that the document tells of', async () => {
    let calls = 0;
    world.faults.store = {
      putRow: () => (++calls === 1 ? Promise.reject(new Error('down')) : Promise.resolve(undefined)),
    };
    const notifications = ['a', 'b'].map((body) => ({ channel: 'webhook', recipient: 'https://example.com', body }));
    const headers = { 'idempotency-key': 'one-fails' };
    const call = { key: keys[0] ?? '', body: { notifications }, headers };
    const { status, body } = await world.call('POST', '/v1/notifications/batch', call);
    delete world.faults.store;
    expect(body.results.map((result: { status: number }) => result.status).sort()).toEqual([202, 503]);
    const sends = operations.find(({ operation }) => operation.operationId === 'sendNotifications');
    const check = sends && schemaFor(sends.operation, status, 'application/json');
    expect(check?.(body), ajv.errorsText(check?.errors)).toBe(true);
  });

  it('and was set aside is shown as the document says: nobody refused it, for it was never sent', async () => {
    const show = operations.find(({ operation }) => operation.operationId === 'getNotification');
    for (const [i, { log_id }] of SET_ASIDE.entries()) {
      const { status, body } = await world.call('GET', `/v1/notifications/${log_id}`, { key: keys[0] ?? '' });
      const check = show && schemaFor(show.operation, status, 'application/json');
      expect(check?.(body), ajv.errorsText(check?.errors)).toBe(true);
      expect(body).toMatchObject({ status: 'failed', priority: i === 0 ? 'important' : 'normal' });
      expect(body.errorMessage).toBe('The notification was not sent: its data are not valid. They must be corrected.');
    }
  });

  const resolve = (schema: JsonSchema): JsonSchema => {
    const name = /^#\/components\/schemas\/(\w+)$/.exec(schema.$ref ?? '')?.[1];
    return name === undefined ? schema : (document.components.schemas[name] ?? {});
  };

  const requestTo = ({ method, path, operation }: (typeof operations)[number]) => {
    const schema = resolve(operation.requestBody?.content['application/json']?.schema ?? {});
    const body = operation.requestBody
      ? fc.oneof(
          { weight: 3, arbitrary: fromSchema(schema).map((value) => JSON.stringify(value)) },
          { weight: 4, arbitrary: nearlyFromSchema(schema).map((value) => JSON.stringify(value)) },
          { weight: 1, arbitrary: fc.json() },
          { weight: 1, arbitrary: fc.string() },
        )
      : fc.constant(undefined);
    const parameters = operation.parameters ?? [];
    const values = Object.fromEntries(
      parameters.map(({ name, in: place, schema: of }) => {
        const any = fc.oneof(fromSchema(of).map(String), fc.string({ maxLength: 60 }));
        if (place === 'path') return [name, fc.oneof(fc.constantFrom(...(idsOf[name] ?? ids)), any)];
        if (place === 'header') return [name, fc.option(fromSchema(of).map(String), { freq: 9, nil: undefined })];
        return [
          name,
          fc.oneof(
            { weight: 14, arbitrary: fc.constant(undefined) },
            { weight: 5, arbitrary: fromSchema(of).map(String) },
            { weight: 1, arbitrary: fc.string({ maxLength: 60 }) },
          ),
        ];
      }),
    );
    return fc.record({
      method: fc.constant(method),
      path: fc.constant(path),
      parameters: fc.constant(parameters),
      operation: fc.constant(operation),
      key: fc.nat(9),
      body,
      values: fc.record(values),
    });
  };

  it('is answered as the document says, and never with 5xx', async () => {
    type Drawn = ReturnType<typeof requestTo> extends fc.Arbitrary<infer R> ? R : never;
    const seen = new Map<string, number>();
    // Bodies whose fields agree are rarely drawn.
    const aToken = {
      ...operations.find(({ operation }) => operation.operationId === 'createToken'),
      parameters: [],
      key: 0,
      body: { send: true, channel: 'email' },
      values: {},
    } as unknown as Drawn;
    // Its recipient is one that its channel takes, which is rarely drawn.
    const send = operations.find(({ operation }) => operation.operationId === 'sendNotification');
    const aNotification = {
      ...send,
      parameters: send?.operation.parameters ?? [],
      key: 0,
      body: JSON.stringify({ channel: 'email', recipient: 'ann@example.com', body: 'x', subject: 'x' }),
      values: { 'Idempotency-Key': 'a-notification-of-the-fuzz' },
    } as unknown as Drawn;
    const ask = async (request: Drawn): Promise<void> => {
      const { method, parameters, operation, values, body } = request;
      let path = request.path;
      const query = new URLSearchParams();
      const headers: Record<string, string> = {};
      for (const { name, in: place } of parameters) {
        const value = values[name];
        if (value === undefined) continue;
        if (place === 'path') path = path.replace(`{${name}}`, pathSegment(String(value).toWellFormed() || 'x'));
        else if (place === 'query') query.set(name, String(value).toWellFormed());
        else headers[name] = String(value);
      }
      const key = keys[request.key] ?? keys[0];
      const url = `${path}${query.size > 0 ? `?${query}` : ''}`;
      const answer = await world.call(method, url, { ...(key && { key }), body, headers });
      expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(500);
      const contentType = answer.headers.get('content-type')?.split(';')[0] ?? '';
      const check = schemaFor(operation, answer.status, contentType);
      expect(check, `${operation.operationId}: ${answer.status} ${contentType}`).toBeDefined();
      expect(check?.(answer.body), `${operation.operationId}: ${ajv.errorsText(check?.errors)}`).toBe(true);
      seen.set(`${operation.operationId} ${answer.status}`, 1);
    };
    // Each operation by itself: one more shuffles no other's.
    for (const operation of operations) {
      const { operationId } = operation.operation;
      const examples = [aToken, aNotification].filter((one) => one.operation.operationId === operationId);
      await fc.assert(fc.asyncProperty(requestTo(operation), ask), {
        examples: examples.map((one): [Drawn] => [one]),
        numRuns: Math.ceil(Number(process.env['FUZZ_RUNS'] ?? 600) / operations.length),
        ...(!process.env['FUZZ_RUNS'] && { seed: 1 }),
      });
    }
    // The ordinary run draws the same requests each time; FUZZ_RUNS is the number of others to draw.
    // It would prove nothing if everything were refused at the door.
    for (const interesting of [
      'sendNotification 202',
      'sendNotification 400',
      'sendNotifications 200',
      'reportFailure 404',
      'reportFailure 409',
      'getNotification 200',
      'getNotification 404',
      'listNotifications 200',
      'listNotifications 400',
      'retryNotification 202',
      'createToken 201',
      'createToken 400',
      'putNewsletter 400',
      'getNewsletter 200',
      'getNewsletter 404',
      'upsertMembers 200',
      'upsertMembers 400',
      'listMembers 200',
      'listMembers 400',
      'getMember 200',
      'getMember 404',
      'resubscribeMember 400',
      'deleteMember 404',
      'publishEmail 400',
      'listEmails 200',
      'getEmail 200',
      'listBatches 200',
      'listRecipients 200',
      'pauseEmail 202',
      'retryEmail 409',
      'testEmail 400',
      'testDraft 400',
      'replaceEmail 400',
      'getDryRun 404',
      'resolveEmail 409',
    ])
      expect([...seen.keys()]).toContain(interesting);
  }, 60_000);
});
