import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Operations, startOperations } from '../support/cli/operations.ts';
import { startTestConsole, type TestConsole } from '../support/console.ts';

let ops: Operations;
let open: TestConsole;
let locked: TestConsole;
beforeAll(async () => {
  ops = await startOperations();
  const page = join(ops.directory, 'page');
  mkdirSync(join(page, 'assets'), { recursive: true });
  writeFileSync(join(page, 'index.html'), '<!doctype html><title>page</title>');
  writeFileSync(join(page, 'assets', 'a-123.js'), 'export {};');
  writeFileSync(join(ops.directory, 'secret.js'), 'secret');
  open = await startTestConsole(ops, { page });
  locked = await startTestConsole(ops, { page, token: true });
}, 60_000);
afterAll(async () => {
  await open?.stop();
  await locked?.stop();
  await ops?.stop();
});

interface Raw {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** fetch refuses to send a Host or an Origin of one's own. */
function send(origin: string, path: string, headers: Record<string, string> = {}, body?: string): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const sent = request(`${origin}${path}`, { method: body === undefined ? 'GET' : 'POST', headers }, (answer) => {
      let text = '';
      answer.on('data', (chunk: Buffer) => {
        text += chunk;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const JSON_TYPE = { 'content-type': 'application/json' };
const action = () => JSON.stringify({ request_id: 'request-1', action: 'retry', log_ids: ['A'] });

describe('a console without a token, on loopback', () => {
  it.each([
    ['another name for this machine (DNS rebinding)', { host: 'evil.example' }],
    ['a page of another origin', { origin: 'https://evil.example' }],
    ['a page of another port of this machine', { origin: 'http://127.0.0.1:1' }],
    ['a page without an origin', { origin: 'null' }],
    ['a page of another site that hides its origin', { 'sec-fetch-site': 'cross-site' }],
    ['a page of the same site on another port', { 'sec-fetch-site': 'same-site' }],
  ])('refuses %s, on every route', async (_, headers) => {
    for (const path of ['/api/session', '/api/overview', '/config.json', '/']) {
      expect((await send(open.origin, path, headers)).status).toBe(403);
    }
    expect((await send(open.origin, '/api/actions', { ...JSON_TYPE, ...headers }, action())).status).toBe(403);
  });

  it('takes nothing that a form of another page could send', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      expect((await send(open.origin, '/api/actions', { 'content-type': type }, action())).status).toBe(400);
    }
  });

  it('says on every answer that nothing frames it, sniffs it or runs beside it', async () => {
    for (const path of ['/', '/notifications/NL1', '/assets/a-123.js', '/api/session', '/api/none', '/missing.js']) {
      const { headers } = await send(open.origin, path);
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
      });
    }
  });

  it('serves the page for each of its routes, and files of its directory only', async () => {
    for (const path of ['/', '/notifications', '/notifications/NL1', '/newsletters/emails/E1']) {
      expect((await send(open.origin, path)).body).toContain('<title>page');
    }
    expect((await send(open.origin, '/assets/a-123.js')).headers['cache-control']).toContain('immutable');
    for (const path of ['/../secret.js', '/%2e%2e/secret.js', '/..%2fsecret.js', '/assets/..%5c..%5csecret.js']) {
      const { status, body } = await send(open.origin, path);
      expect([status, body]).toEqual([404, expect.not.stringContaining('secret')]);
    }
  });
});

describe('a console with a token', () => {
  const token = () => new URLSearchParams(new URL(locked.url).hash.slice(1)).get('token') ?? '';
  const exchange = async (given: string) =>
    send(locked.origin, '/api/session', JSON_TYPE, JSON.stringify({ token: given }));

  it('answers nothing but files and how to sign in without it', async () => {
    expect((await send(locked.origin, '/')).status).toBe(200);
    expect(JSON.parse((await send(locked.origin, '/config.json')).body)).toEqual({ sign_in: 'cookie' });
    for (const path of ['/api/session', '/api/overview', '/api/notifications', '/api/none']) {
      expect((await send(locked.origin, path)).status).toBe(401);
    }
    expect((await exchange('guess')).status).toBe(401);
  });

  it('gives the cookie for it, which counts only from a page of its own', async () => {
    const { headers } = await exchange(token());
    const [set = ''] = headers['set-cookie'] ?? [];
    expect(set).toMatch(/; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
    expect(set).not.toContain(token());
    const cookie = set.split(';')[0] ?? '';
    const own = { cookie, 'sec-fetch-site': 'same-origin' };
    expect((await send(locked.origin, '/api/session', own)).status).toBe(200);
    // Another server of this host gets the cookie, too; no page of it can say that it is ours.
    expect((await send(locked.origin, '/api/session', { cookie })).status).toBe(401);
    const foreign = { cookie, origin: 'http://127.0.0.1:1', ...JSON_TYPE };
    expect((await send(locked.origin, '/api/actions', foreign, action())).status).toBe(403);
    const other = { cookie: cookie.replace(/=.*/, '=guess'), 'sec-fetch-site': 'same-origin' };
    expect((await send(locked.origin, '/api/session', other)).status).toBe(401);
  });

  it('lets a program in that has the token itself', async () => {
    const authorization = `Bearer ${token()}`;
    expect((await send(locked.origin, '/api/session', { authorization })).status).toBe(200);
    expect((await send(locked.origin, '/api/session', { authorization: 'Bearer guess' })).status).toBe(401);
  });
});
