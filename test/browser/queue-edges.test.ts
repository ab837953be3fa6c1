import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { bundleBrowserClient } from '../../tools/scripts/build-client.ts';
import { openTab, startBrowser } from '../support/browser/browser.ts';

const LONG = { timeout: 100_000, interval: 200 };
/** A clock and databases that the test can move and close, before anything of the page runs. */
const HANDLES = `
  window.shift = 0;
  const now = Date.now;
  Date.now = () => now() + window.shift;
  window.databases = [];
  const open = IDBFactory.prototype.open;
  IDBFactory.prototype.open = function (...given) {
    const opening = open.apply(this, given);
    opening.addEventListener('success', () => window.databases.push(opening.result));
    return opening;
  };`;
const PAGE = `<!doctype html><html lang="en"><body><script type="module">
  import { createOfflineQueue, defineNotificationState } from '/browser.js';
  const api = { url: location.origin, getToken: async () => 'nrt_page' };
  defineNotificationState(api);
  window.faults = [];
  window.addEventListener('error', (event) => { window.faults.push(event.message); event.preventDefault(); });
  window.queue = await createOfflineQueue({ ...api, name: 'edges' });
  window.queue.subscribe(() => { throw new Error('the page is wrong'); });
</script></body></html>`;

/** The API as a page sees it: keys, 429s, answers that get lost, a limit per token. */
function startApi() {
  const accepted = new Map<string, string>();
  const bodies: string[] = [];
  const refusals = new Map<string, number>();
  const world = { accepted, bodies, limited: 0, looks: [] as string[], looksPerSecond: Number.POSITIVE_INFINITY };
  let second = { at: 0, looks: 0 };
  const answer = (response: ServerResponse, status: number, body: object, headers = {}) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

  function post(request: IncomingMessage, response: ServerResponse, text: string): void {
    const key = request.headers['idempotency-key']?.toString() ?? '';
    const { body } = JSON.parse(text) as { body: string };
    const n = Number(body.split('-').at(-1));
    const before = refusals.get(key) ?? 0;
    refusals.set(key, before + 1);
    if (n % 3 === 0 && before === 0) {
      world.limited += 1;
      return void answer(response, 429, {}, { 'retry-after': '1' });
    }
    const known = accepted.get(key);
    if (known === undefined) bodies.push(body);
    const log_id = known ?? `NL${accepted.size}`;
    accepted.set(key, log_id);
    // Taken, and the answer is lost.
    if (n % 7 === 1 && before === 0) return void request.socket.destroy();
    answer(response, 202, { log_id }, known === undefined ? {} : { 'idempotent-replayed': 'true' });
  }

  function look(response: ServerResponse, log_id: string): void {
    const at = Math.floor(Date.now() / 1_000);
    if (second.at !== at) second = { at, looks: 0 };
    second.looks += 1;
    if (second.looks > world.looksPerSecond) {
      world.limited += 1;
      return void answer(response, 429, {}, { 'retry-after': '1' });
    }
    world.looks.push(log_id);
    answer(response, 200, { status: 'done', canRetry: false });
  }
  return { world, post, look };
}

let browser: Browser;
let server: Server;
let directory: string;
let api: ReturnType<typeof startApi>;
let url = '';

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'queue-edges-'));
  [browser] = await Promise.all([startBrowser(), bundleBrowserClient(directory)]);
  const script = readFileSync(join(directory, 'browser.js'));
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url: path = '' } = request;
      if (path === '/browser.js') response.writeHead(200, { 'content-type': 'text/javascript' }).end(script);
      else if (method === 'POST') api.post(request, response, Buffer.concat(chunks).toString());
      else if (path.startsWith('/v1/')) api.look(response, path.split('/').at(-1) ?? '');
      else response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}, 180_000);
afterAll(async () => {
  await browser?.close();
  server?.closeAllConnections();
  server?.close();
  rmSync(directory, { recursive: true, force: true });
});
beforeEach(() => {
  api = startApi();
});

async function open(context?: BrowserContext): Promise<Page> {
  const page = context === undefined ? (await openTab(browser, url)).page : await context.newPage();
  if (context === undefined) await page.context().addInitScript(HANDLES);
  await page.goto(url);
  await page.waitForFunction('window.queue');
  return page;
}

const states = (page: Page) =>
  page.evaluate('queue.entries().then((all) => all.map(({ state }) => state))') as Promise<string[]>;

describe('the queue of two tabs', () => {
  it('sends each once, whatever listeners, clocks, the browser and the API do', async () => {
    const one = await open();
    const context = one.context();
    const two = await open(context);
    const disturbances = [
      'shift = -40 * 86_400_000',
      'for (const database of databases) database.close()',
      // No jump of days, however slowly the entries are added: what it finds under way would be left to a person.
      'shift += 10 * 3_600_000',
      'for (const database of databases) database.close()',
    ];
    const all: string[] = [];
    for (let n = 0; n < 40; n++) {
      const body = `edge-${n}`;
      all.push(body);
      const notification = { channel: 'email', recipient: 'a@b.example', body };
      // A person whose page says that it failed sends again.
      await (n % 2 === 0 ? one : two).evaluate(`queue.add(${JSON.stringify(notification)})`);
      const disturbance = n % 10 === 9 ? disturbances[Math.floor(n / 10)] : undefined;
      if (disturbance !== undefined) for (const page of [one, two]) await page.evaluate(disturbance);
    }
    await expect.poll(() => states(one), LONG).toEqual(all.map(() => 'accepted'));
    expect([...api.world.bodies].sort()).toEqual([...all].sort());
    expect(api.world.limited).toBeGreaterThan(0);
    // Listeners threw all the time, and the page heard of it.
    expect(await two.evaluate('faults.length')).toBeGreaterThan(0);
    await context.close();
  }, 180_000);

  it('keeps for a person what was under way when the clock jumped by 40 days, and sends it once then', async () => {
    const page = await open();
    await page.evaluate(`queue.add({ channel: 'email', recipient: 'a@b.example', body: 'jump-0' })`);
    // Its first attempt was refused for a second.
    await expect.poll(() => api.world.limited, LONG).toBe(1);
    await page.evaluate('shift = 40 * 86_400_000');
    await expect.poll(() => states(page), LONG).toEqual(['failed']);
    await page.evaluate('queue.retry()');
    await expect.poll(() => states(page), LONG).toEqual(['accepted']);
    expect(api.world.bodies).toEqual(['jump-0']);
  }, 120_000);
});

it('fifty elements on one token all show the end, none says that it cannot, and none asks again', async () => {
  const page = await open();
  api.world.looksPerSecond = 10;
  await page.evaluate(`
      window.said = new Set();
      for (let n = 0; n < 50; n++) {
        const element = document.createElement('notification-state');
        element.setAttribute('log-id', 'NL' + n);
        document.body.append(element);
        const message = element.shadowRoot.querySelector('[part=message]');
        new MutationObserver(() => said.add(message.textContent)).observe(message, { childList: true });
      }`);
  const shown = () =>
    page.evaluate(
      `[...document.querySelectorAll('notification-state')].filter(({ dataset }) => dataset.state === 'done').length`,
    );
  await expect.poll(shown, LONG).toBe(50);
  expect(await page.evaluate('[...said]')).toEqual(['Sent.']);
  expect(api.world.limited).toBeGreaterThan(0);
  const looks = api.world.looks.length + api.world.limited;
  await page.evaluate(`for (let n = 0; n < 3; n++) dispatchEvent(new Event('online'))`);
  await page.waitForTimeout(500);
  expect(api.world.looks.length + api.world.limited).toBe(looks);
  expect(await shown()).toBe(50);
}, 120_000);
