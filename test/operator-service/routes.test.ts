import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import { createConsole } from '../../src/operator-service/console.ts';
import { decisionBody } from '../../src/operator-service/contract/fields.ts';
import { decision } from '../../src/operator-service/route.ts';
import { consoleDocument } from '../../src/operator-service/routes/openapi.ts';
import type { TypesOf } from '../../src/operator-service/routes.ts';
import { type Operations, startOperations } from '../support/cli/operations.ts';

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
  async handle({ path: { thing_id }, decide }) {
    const { answer } = await decide({ what: 'thing.polish', on: [thing_id] }, async () => ({
      answer: { thing_id },
      result: { polished: 1 },
    }));
    return answer;
  },
});
const ROUTES = [MADE_UP];

describe('a route of the console that is added as one object', () => {
  const serve = () => {
    const { deployment, dynamodb, sqs } = ops;
    const binding = {
      ...{ deployment, dynamodb, sqs, clock: () => new Date(), newId: randomUUID },
      ...{ stage: 'test', region: 'us-east-1', local: true, onRecord: () => {}, onFault: () => {} },
    };
    const dispatch = createConsole(binding, async () => {}, ROUTES);
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
    const audit = await ops.run(['audit', '--what', 'thing.polish', '--json']);
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
