import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import * as v from 'valibot';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import { createAuditLog } from '../../src/adapters/dynamodb/console/audit-log.ts';
import { listAudit } from '../../src/application/audit.ts';
import { createConsole } from '../../src/application/console.ts';
import { decisionBody } from '../../src/application/contract/fields.ts';
import { toCursor } from '../../src/application/cursor.ts';
import { decision } from '../../src/application/route.ts';
import { CONSOLE_ROUTES, type TypesOf } from '../../src/application/routes.ts';
import { type Operations, startOperations } from '../support/cli/operations.ts';
import { consoleDocument } from '../support/docs/console-document.ts';

let ops: Operations;
beforeAll(async () => {
  ops = await startOperations();
}, 60_000);
afterAll(() => ops?.stop());

/** All that a new route takes. */
const MADE_UP = decision('POST /api/things/{thing_id}/polish', decisionBody, {
  operation_id: 'polishThing',
  summary: 'Polishes a thing',
  answer: v.strictObject({ thing_id: v.string() }),
  command: ['show', 'thing_id'],
  decide: ({ path: { thing_id } }) => ({
    audit: { what: 'newsletter.polish', on: [thing_id] },
    run: async () => ({ answer: { thing_id }, result: { polished: 1 } }),
  }),
});
const ROUTES = [MADE_UP];

function consoleOf(routes: Parameters<typeof createConsole>[2], onFault: (error: unknown) => void = () => {}) {
  const { deployment, dynamodb, sqs } = ops;
  const place = { stage: 'test', region: 'us-east-1', local: true };
  return createConsole(
    { deployment, dynamodb, sqs, clock: () => new Date(), newId: randomUUID, ...place, onRecord: () => {}, onFault },
    { startRun: async () => {}, deleteLetters: async () => {}, startVerification: async () => {} },
    routes,
  );
}

describe('a route of the console that is added as one object', () => {
  const serve = () => {
    const dispatch = consoleOf(ROUTES);
    return async (body: object, role: 'operator' | 'viewer' = 'operator') => {
      const answer = await dispatch({
        method: 'POST',
        path: '/api/things/a%20b/polish',
        query: {},
        headers: {},
        body: Buffer.from(JSON.stringify(body)),
        caller: { who: 'mori', role },
      });
      return { status: answer.status, body: JSON.parse(answer.body) };
    };
  };

  it('is served, checked, and kept from viewers, with its command in refusals', async () => {
    const ask = serve();
    expect(await ask({ request_id: 'request-1' })).toEqual({ status: 200, body: { thing_id: 'a b' } });
    const command = "npm run ops -- show 'a b' --local";
    expect(await ask({ request_id: '?' })).toMatchObject({ status: 400, body: { command } });
    expect(await ask({ request_id: 'request-2' }, 'viewer')).toMatchObject({ status: 403, body: { command } });
  });

  it('is audited, and decides once for each request_id', async () => {
    const ask = serve();
    for (const _ of ['first', 'repeated']) await ask({ request_id: 'request-3' });
    const audit = await ops.run(['audit', '--what', 'newsletter.polish', '--json']);
    const found = JSON.parse(audit.out).entries.filter(
      ({ request_id }: { request_id: string }) => request_id === 'request-3',
    );
    expect(found).toMatchObject([{ who: 'mori', on: ['a b'], result: { polished: 1 } }]);
  });

  it('is documented', () => {
    const { paths, components } = consoleDocument(ROUTES) as Record<string, Record<string, object>>;
    expect(paths).toMatchObject({
      '/api/things/{thing_id}/polish': {
        post: { operationId: 'polishThing', tags: ['operator'], parameters: [{ name: 'thing_id', in: 'path' }] },
      },
    });
    expect(Object.keys(components?.['schemas'] ?? {})).toContain('PolishThingAnswer');
  });

  it('has types for the page', () => {
    type Polish = TypesOf<typeof MADE_UP>['POST /api/things/{thing_id}/polish'];
    expectTypeOf<Polish['takes']>().toEqualTypeOf<{ request_id: string }>();
    expectTypeOf<Polish['answer']>().toEqualTypeOf<{ readonly thing_id: string }>();
  });
});

/** Every input of every route: the fields of its query or body, at any depth. */
interface Input {
  readonly name: string;
  readonly schema: v.GenericSchema;
}
type Nested = v.GenericSchema & { readonly wrapped?: Nested; readonly entries?: Readonly<Record<string, Nested>> };

function inputsOf(schema: Nested, name: string): Input[] {
  if (schema.wrapped !== undefined) return inputsOf(schema.wrapped, name);
  if (schema.entries === undefined) return [{ name, schema }];
  return Object.entries(schema.entries).flatMap(([key, entry]) => inputsOf(entry, `${name} ${key}`));
}

describe('what the routes take', () => {
  const takes = ({ schema }: Input, value: unknown) => v.safeParse(schema, value).success;
  const times = CONSOLE_ROUTES.flatMap(({ key, takes: schema }) => inputsOf(schema as Nested, key)).filter(
    (input) => takes(input, '2026-11-01T10:30:00.000Z') && !takes(input, '2026-11-01'),
  );

  it('as a time is one that exists', () => {
    expect(times.map(({ name }) => name)).toEqual([
      'GET /api/notifications from',
      'GET /api/notifications to',
      'POST /api/operations filter from',
      'POST /api/operations filter to',
      'GET /api/audit from',
      'GET /api/audit to',
      'POST /api/newsletters known_at',
      'POST /api/emails/dry-run scheduled_at',
      'POST /api/emails/test scheduled_at',
      'POST /api/emails scheduled_at',
      'POST /api/emails/preview scheduled_at',
      'POST /api/emails/{email_id}/replace scheduled_at',
      'POST /api/emails/{email_id}/replace known_at',
    ]);
    const part = (most: number, length = 2) => fc.nat({ max: most }).map((n) => String(n).padStart(length, '0'));
    const written = fc
      .tuple(part(9_999, 4), part(13), part(32), part(25), part(61), part(61))
      .map(([year, month, day, hour, minute, second]) => `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`);
    const exists = (text: string) => {
      const time = new Date(text);
      return !Number.isNaN(time.getTime()) && time.toISOString() === text;
    };
    for (const input of times) {
      fc.assert(
        fc.property(written, (text) => takes(input, text) === exists(text)),
        {
          examples: [
            ['2026-13-01T00:00:00.000Z'],
            ['0000-00-00T00:00:00.000Z'],
            ['2026-02-30T00:00:00.000Z'],
            ['2026-11-01T24:00:00.000Z'],
          ],
        },
      );
    }
  });

  const ask = async (method: string, path: string, query = {}) => {
    const faults: unknown[] = [];
    const dispatch = consoleOf(CONSOLE_ROUTES, (error) => faults.push(error));
    const body = Buffer.from(JSON.stringify({ request_id: randomUUID() }));
    const request = { method, path, query, headers: {}, body, caller: { who: 'mori', role: 'operator' as const } };
    const { status } = await dispatch(request);
    return [status, faults];
  };

  it.each(CONSOLE_ROUTES.map(({ key }) => key).filter((key) => key.includes('{')))(
    'in the path is no longer than a key: %s',
    async (key) => {
      const [method = '', path = ''] = key.split(' ');
      expect(await ask(method, path.replace(/\{\w+\}/g, 'x'.repeat(2_049)))).toEqual([400, []]);
    },
  );

  it.each([
    { day: '2026-99-99', item: '~' },
    { day: '2026-02-30', item: '~' },
    { day: '2026-11-01', item: '\ud800' },
  ])('as a cursor of the audit log is a place in it: %o', async (place) => {
    expect(await ask('GET', '/api/audit', { cursor: toCursor(place) })).toEqual([400, []]);
  });

  // They exist, and a period before them would begin in a year with a sign.
  it.each(['0000-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'])(
    'as a time is the first or the last: %s',
    async (at) => {
      for (const [path, query] of ['/api/notifications', '/api/audit'].flatMap((path) =>
        [{ to: at }, { from: at }, { from: at, to: at }].map((query) => [path, query] as const),
      )) {
        const [status, faults] = await ask('GET', path, query);
        expect([path, query, faults]).toEqual([path, query, []]);
        expect([200, 400]).toContain(status);
      }
    },
  );

  it('as the end of the audit log may be the first day of all', async () => {
    const clock = () => new Date();
    const audit = createAuditLog(ops.dynamodb, ops.deployment.tables.audit, clock);
    expect(await listAudit({ to: '0000-01-02T00:00:00.000Z', limit: 5 }, { audit, clock })).toEqual({ records: [] });
  });
});
