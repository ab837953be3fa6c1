import { randomUUID } from 'node:crypto';
import { Logger } from '@aws-lambda-powertools/logger';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHandler } from '../../functions/shared/console/console-function.ts';
import { createConsole } from '../../src/application/console.ts';
import type { AnyRoute } from '../../src/application/route.ts';
import { CONSOLE_ROUTES } from '../../src/application/routes.ts';
import { type Operations, startOperations } from '../support/cli/operations.ts';
import { asApiGateway, bearer } from '../support/console-token.ts';

/** What a viewer may POST, and what a GET keeps for operators: nothing. A new one gets a line. */
const VIEWERS_MAY_POST: readonly string[] = [];
const OPERATORS_MAY_GET: readonly string[] = [];
/** What asks by a POST, and changes nothing: the audit log keeps every other one. */
const NOT_AUDITED = ['POST /api/recipient-hash', 'POST /api/members/import-preview', 'POST /api/emails/dry-run'];

let ops: Operations;
beforeAll(async () => {
  ops = await startOperations();
}, 60_000);
afterAll(() => ops?.stop());

const RULES = { claim: 'groups', operators: ['operator'], viewers: ['viewer'] };
const PERSON = { sub: 'u-1', iss: 'https://issuer.example' };

interface Token {
  readonly claims: Readonly<Record<string, unknown>>;
  /** As API Gateway verified it, where that is another one. */
  readonly verified?: Readonly<Record<string, unknown>>;
  readonly role?: 'operator' | 'viewer';
}

/** Every kind of token, and the role that it gives. */
const TOKENS: Readonly<Record<string, Token | undefined>> = {
  none: undefined,
  'without groups': { claims: PERSON },
  'of other groups': { claims: { ...PERSON, groups: ['operators', 'my operator', 'OPERATOR'] } },
  'of a group that is text around the role': { claims: { ...PERSON, groups: 'operator viewer' } },
  'whose role is in another claim': { claims: { ...PERSON, roles: ['operator'], scope: 'operator' } },
  'without a subject': { claims: { iss: PERSON.iss, groups: ['operator'] } },
  'of somebody else than API Gateway verified': {
    claims: { ...PERSON, groups: ['operator'] },
    verified: { ...PERSON, sub: 'u-2', groups: ['viewer'] },
  },
  'of another issuer than API Gateway verified': {
    claims: { ...PERSON, groups: ['operator'] },
    verified: { ...PERSON, iss: 'https://other.example' },
  },
  'that tells who signed in': { claims: { ...PERSON, groups: ['operator'], token_use: 'id' } },
  'with a nonce, as ID tokens have': { claims: { ...PERSON, groups: ['operator'], nonce: 'n' } },
  'of a viewer': { claims: { ...PERSON, groups: ['viewer'] }, role: 'viewer' },
  'of an operator': { claims: { ...PERSON, groups: ['operator'] }, role: 'operator' },
  'of both': { claims: { ...PERSON, groups: ['viewer', 'operator'] }, role: 'operator' },
};

/** The deployed console with these routes, whose handlers say that they were reached. */
function served(routes: readonly AnyRoute[]) {
  const reached: string[] = [];
  const { deployment, dynamodb, sqs } = ops;
  const stage = { stage: 'test', region: 'us-east-1', local: false };
  const dispatch = createConsole(
    { deployment, dynamodb, sqs, clock: () => new Date(), newId: randomUUID, ...stage, onRecord() {}, onFault() {} },
    { startRun: async () => {}, deleteLetters: async () => {}, startVerification: async () => {} },
    routes.map(({ handle: _, decide: __, ...one }: AnyRoute & { handle?: unknown; decide?: unknown }) => ({
      ...one,
      async handle() {
        reached.push(one.key);
        return {};
      },
    })),
  );
  const handle = createHandler({ dispatch, rules: RULES }, { logger: new Logger({ logLevel: 'SILENT' }) });
  async function ask(key: string, token: Token | undefined): Promise<number> {
    const [method = '', path = ''] = key.split(' ');
    const { claims, verified = claims } = token ?? {};
    const { statusCode } = await handle({
      version: '2.0',
      routeKey: `${method} /api/{proxy+}`,
      rawPath: path.replaceAll(/\{\w+\}/g, 'id-1'),
      rawQueryString: '',
      headers: claims === undefined ? {} : { authorization: bearer(claims) },
      ...(method === 'POST' && { body: '{"request_id":"request-1"}' }),
      isBase64Encoded: false,
      requestContext: {
        http: { method, path, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: '' },
        ...(verified && { authorizer: { jwt: { claims: asApiGateway(verified) } } }),
      },
    } as unknown as APIGatewayProxyEventV2);
    return statusCode ?? 0;
  }
  return { ask, reached };
}

/** What is wrong with a route's role, by its own data and by what it answers. */
async function faultsOf(route: AnyRoute): Promise<string[]> {
  const { key, role } = route;
  const { ask, reached } = served([route]);
  const faults: string[] = [];
  const needed = key.startsWith('GET ')
    ? OPERATORS_MAY_GET.includes(key)
      ? 'operator'
      : 'viewer'
    : VIEWERS_MAY_POST.includes(key)
      ? 'viewer'
      : 'operator';
  if (role !== needed) faults.push(`is for the role ${role}`);
  for (const [which, token] of Object.entries(TOKENS)) {
    reached.length = 0;
    const status = await ask(key, token);
    const may = token?.role === 'operator' || (token?.role === 'viewer' && needed === 'viewer');
    if ((status === 403) === may || (!may && reached.length > 0))
      faults.push(`answers a token ${which} with ${status}`);
  }
  return faults;
}

describe('every route of the console', () => {
  it('is open to the roles that may use it, by their own tokens, and to nobody else', async () => {
    const faults = new Map<string, string[]>();
    for (const one of CONSOLE_ROUTES) faults.set(one.key, await faultsOf(one as AnyRoute));
    expect([...faults].filter(([, found]) => found.length > 0)).toEqual([]);
    expect(faults.size).toBeGreaterThan(30);
  }, 60_000);

  it('is audited if it changes something', () => {
    const unaudited = CONSOLE_ROUTES.filter((one) => one.key.startsWith('POST ') && !('decide' in one));
    expect(unaudited.map(({ key }) => key)).toEqual(NOT_AUDITED);
  });

  it('would be found here if it changed something for viewers', async () => {
    const post = CONSOLE_ROUTES.find(({ key }) => key.startsWith('POST '));
    const open = { ...(post as AnyRoute), key: 'POST /api/unsafe', role: 'viewer' as const };
    expect(await faultsOf(open)).toEqual([
      'is for the role viewer',
      expect.stringMatching(/^answers a token of a viewer/),
    ]);
  });
});
