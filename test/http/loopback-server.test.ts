import http from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type HttpServer, serve } from '../../src/http/loopback-server.ts';

const APP = 'http://localhost:5173';

let server: HttpServer;
let handled: string[];
beforeEach(async () => {
  handled = [];
  server = await serve(
    (request, response) => {
      handled.push(String(request.method));
      response.end('handled');
    },
    0,
    'a test',
    { allowPage: (origin, path) => origin === APP && path.startsWith('/v1/') },
  );
});
afterEach(() => server.close());

/** By node:http, because fetch sets these headers itself. */
function ask(headers: Record<string, string>, method = 'POST', path = '/'): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    const request = http.request({ hostname, port, method, path, headers }, async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      resolve({ status: response.statusCode ?? 0, text });
    });
    request.on('error', reject).end(method === 'POST' ? '{}' : undefined);
  });
}
const port = () => new URL(server.url).port;

describe('a server of the local runtime', () => {
  it.each(['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]', '127.0.0.2'])(
    'answers as %s, with or without a port',
    async (host) => {
      for (const given of [host, `${host}:${port()}`, `${host}:18080`]) {
        expect(await ask({ host: given })).toEqual({ status: 200, text: 'handled' });
      }
    },
  );

  it.each([
    'rebind.example',
    'localhost.rebind.example',
    '127.0.0.1.rebind.example',
    'user@localhost',
    '10.0.0.1',
    'a b',
  ])('refuses a request for the host %j, which a browser makes after DNS rebinding', async (host) => {
    const { status, text } = await ask({ host });
    expect(status).toBe(403);
    expect(text).toContain(`use ${server.url}`);
    expect(handled).toEqual([]);
  });

  it('takes requests of its own pages', async () => {
    for (const host of [`127.0.0.1:${port()}`, `localhost:${port()}`]) {
      const own = { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' };
      expect((await ask(own)).status).toBe(200);
    }
  });

  it('opens in a browser, also from a link on another page', async () => {
    for (const site of ['none', 'cross-site']) {
      expect((await ask({ 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate' }, 'GET')).status).toBe(200);
    }
  });

  it.each([
    ['POST', { origin: 'https://page.example' }],
    ['POST', { origin: 'null' }],
    ['POST', { origin: 'http://localhost:1' }],
    ['POST', { origin: 'https://127.0.0.1' }],
    ['POST', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }],
    ['GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }],
    ['GET', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }],
  ])("refuses another page's %s with %o", async (method, headers) => {
    expect((await ask(headers, method)).status).toBe(403);
    expect(handled).toEqual([]);
  });

  it('takes requests of the pages that it is told to, on the paths that it is told to', async () => {
    for (const method of ['POST', 'GET', 'OPTIONS']) {
      const page = { origin: APP, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' };
      expect((await ask(page, method, '/v1/notifications')).status).toBe(200);
    }
    expect(handled).toHaveLength(3);
  });

  it.each([
    ['on another path', { origin: APP }, '/2015-03-31/functions/f/invocations'],
    ['after DNS rebinding', { origin: APP, host: 'rebind.example' }, '/v1/notifications'],
    ['of another port', { origin: 'http://localhost:5174' }, '/v1/notifications'],
    ['of a name that begins alike', { origin: `${APP}.rebind.example` }, '/v1/notifications'],
    ['of an origin that the browser hides', { origin: 'null' }, '/v1/notifications'],
    ['that names no origin', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' }, '/v1/notifications'],
  ])('refuses a page’s request %s', async (_, headers, path) => {
    expect((await ask(headers, 'POST', path)).status).toBe(403);
    expect(handled).toEqual([]);
  });
});
