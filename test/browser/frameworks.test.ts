import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTab, startBrowser } from '../support/browser/browser.ts';
import { FRAMEWORK_NAMES, type FrameworkPage, frameworkPage } from '../support/browser/frameworks.ts';

const MINUTE = 60_000;
/** What the API says of each notification. */
const ANSWERS: Readonly<Record<string, object>> = {
  NL1: { status: 'failed', canRetry: true, errorMessage: 'No such mailbox.' },
  NL2: { status: 'retrying', canRetry: false, next_retry_at: '2999-01-01T00:00:00.000Z' },
  NL3: { status: 'done', canRetry: false },
};
const SHOWN: Readonly<Record<string, string>> = {
  NL1: 'Not sent. No such mailbox.',
  NL2: 'Not sent yet. Another attempt follows.',
  NL3: 'Sent.',
};

const pages = new Map<string, FrameworkPage>();
const looks: string[] = [];
let server: Server;
let url: string;
let browser: Browser;
beforeAll(async () => {
  for (const name of FRAMEWORK_NAMES) pages.set(encodeURIComponent(name), await frameworkPage(name));
  server = createServer(({ url: path = '/' }, response) => {
    const [, kind = '', name = ''] = path.split('/');
    const page = pages.get(name);
    if (path.startsWith('/v1/notifications/')) {
      const log_id = path.split('/')[3] ?? '';
      looks.push(log_id);
      response.setHeader('content-type', 'application/json').end(JSON.stringify(ANSWERS[log_id]));
    } else if (kind === 'script') response.setHeader('content-type', 'text/javascript').end(page?.script);
    else {
      const script = `<script type="module" src="/script/${name}"></script>`;
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.end(
        `<!doctype html><html lang="en"><link rel="icon" href="data:,"><body><div id="root">${page?.html ?? ''}</div>${page === undefined ? '' : script}`,
      );
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await startBrowser();
}, 5 * MINUTE);
afterAll(async () => {
  await browser?.close();
  server?.closeAllConnections();
  server?.close();
});
beforeEach(() => {
  looks.splice(0);
});

async function open(name: string) {
  const tab = await openTab(browser, url);
  await tab.page.goto(`/page/${encodeURIComponent(name)}`);
  for (const [log_id, text] of Object.entries(SHOWN))
    await tab.page.locator(`[log-id=${log_id}]`).getByText(text, { exact: true }).waitFor();
  return tab;
}

/** Runs an expression in the page, and reads at once what its elements show: what a person would see blink is seen. */
const textsAfter = (page: Page, expression: string): Promise<Record<string, string>> =>
  page.evaluate(`(async () => {
    ${expression};
    await Promise.resolve();
    const all = [...document.querySelectorAll('[log-id]')];
    return Object.fromEntries(all.map((one) => [one.getAttribute('log-id'), one.shadowRoot.querySelector('[part=message]').textContent]));
  })()`);
const ids = (page: Page) => page.locator('[log-id]').evaluateAll((all) => all.map((one) => one.getAttribute('log-id')));
const button = (page: Page, selector: string) => page.locator(selector).getByRole('button');

describe.each(FRAMEWORK_NAMES)('in %s', (name) => {
  it(
    'a page that a server has rendered goes on, without a warning',
    async () => {
      expect(pages.get(encodeURIComponent(name))?.html).toMatch(/<notification-state log-id="NL1">/);
      const { page, faults } = await open(name);
      expect(await button(page, '[log-id=NL1]').textContent()).toBe('Try again');
      expect(await button(page, '[log-id=NL2]').count()).toBe(0);
      expect([...looks].sort()).toEqual(['NL1', 'NL2', 'NL3']);
      expect(faults).toEqual([]);
    },
    MINUTE,
  );

  it(
    'a list that is sorted again shows what it showed, and asks nothing',
    async () => {
      const { page, faults } = await open(name);
      for (const order of ['NL3,NL2,NL1', 'NL2,NL1,NL3', 'NL1,NL2,NL3']) {
        const change = `show({ ids: ${JSON.stringify(order.split(','))}, canRetry: false })`;
        expect(await textsAfter(page, change)).toEqual(SHOWN);
        await expect.poll(() => ids(page)).toEqual(order.split(','));
      }
      expect(looks).toHaveLength(3);
      expect(faults).toEqual([]);
    },
    MINUTE,
  );

  it(
    'false is no, and true is yes',
    async () => {
      const { page } = await open(name);
      for (const canRetry of [false, true, false]) {
        await page.evaluate(`show({ ids: ['NL1'], canRetry: ${canRetry} })`);
        await expect.poll(() => button(page, '#own').count()).toBe(canRetry ? 1 : 0);
        expect(await page.locator('#own').evaluate((own) => (own as never)['canRetry'])).toBe(canRetry);
      }
    },
    MINUTE,
  );

  it(
    'without network nothing that was known is lost, and it is asked again when it is back',
    async () => {
      const { page } = await open(name);
      await page.context().setOffline(true);
      await page.evaluate(`show({ ids: ['NL4', 'NL1', 'NL2', 'NL3'], canRetry: false })`);
      await page.locator('[log-id=NL4]').getByText('The state cannot be shown at the moment.').waitFor();
      expect(await textsAfter(page, '')).toMatchObject(SHOWN);
      looks.splice(0);
      await page.context().setOffline(false);
      await expect.poll(() => looks).toContain('NL4');
      expect(looks).not.toContain('NL3');
    },
    MINUTE,
  );
});

describe('the language of the element', () => {
  const LANGUAGES = [
    ['ja-JP', '再試行'],
    ['pt-BR', 'Tentar de novo'],
    ['PT-br', 'Tentar de novo'],
    ['zh-Hant-TW', '重試'],
    ['fr', 'Try again'],
    ['en-GB', 'Try again'],
  ] as const;

  it(
    'is that of the page, when it changes, too',
    async () => {
      const { page } = await open('React 19');
      for (const [lang, text] of LANGUAGES) {
        await page.evaluate(`document.documentElement.lang = '${lang}'`);
        await expect.poll(() => button(page, '[log-id=NL1]').textContent()).toBe(text);
      }
      expect(looks).toHaveLength(3);
    },
    MINUTE,
  );

  it(
    'comes into shadow roots, also from between them, and goes with what is moved',
    async () => {
      const { page } = await open('React 19');
      await page.evaluate(`{
      document.documentElement.lang = 'ja';
      const outer = document.body.appendChild(document.createElement('div'));
      outer.id = 'outer';
      outer.attachShadow({ mode: 'open' }).innerHTML = '<section><div id="inner"></div></section>';
      const inner = outer.shadowRoot.querySelector('#inner');
      inner.attachShadow({ mode: 'open' }).innerHTML = '<notification-state id="deep" state="failed" can-retry></notification-state>';
      const other = document.body.appendChild(document.createElement('div'));
      other.id = 'other';
      other.lang = 'zh-Hant';
    }`);
      const shows = (text: string) => expect.poll(() => button(page, '#deep').textContent()).toBe(text);
      await shows('再試行');
      await page.locator('section').evaluate((section) => {
        (section as HTMLElement).lang = 'pt-BR';
      });
      await shows('Tentar de novo');
      await page.locator('section').evaluate((section) => section.removeAttribute('lang'));
      await page.evaluate("document.documentElement.lang = 'zh-Hant-HK'");
      await shows('重試');
      await page.evaluate("document.documentElement.lang = 'en'");
      await shows('Try again');
      await page.evaluate("document.querySelector('#other').append(document.querySelector('#outer'))");
      await shows('重試');
      await page.evaluate("document.querySelector('#other').lang = 'ja'");
      await shows('再試行');
    },
    MINUTE,
  );

  it(
    'is the person’s where the page says nothing',
    async () => {
      const { page } = await openTab(browser, url, { locale: 'ja-JP' });
      await page.goto(`/page/${encodeURIComponent('React 19')}`);
      await page.evaluate("document.documentElement.removeAttribute('lang')");
      await expect.poll(() => button(page, '[log-id=NL1]').textContent()).toBe('再試行');
    },
    MINUTE,
  );
});

describe('an element', () => {
  it.each(['append', 'moveBefore'])(
    'that is moved by %s keeps its state, and its next look',
    async (move) => {
      const { page } = await open('React 19');
      const texts = await textsAfter(
        page,
        `const to = document.body.appendChild(document.createElement('div'));
       const one = document.querySelector('[log-id=NL1]');
       ${move === 'append' ? 'to.append(one)' : '(to.moveBefore ?? to.insertBefore).call(to, one, null)'}`,
      );
      expect(texts).toEqual(SHOWN);
      expect(looks).toHaveLength(3);
    },
    MINUTE,
  );

  it(
    'that is made anew, or gets the log-id of another one, shows at once what is known of it',
    async () => {
      const { page } = await open('React 19');
      const anew = "const list = document.querySelector('ul'); list.innerHTML = list.innerHTML";
      expect(await textsAfter(page, anew)).toEqual(SHOWN);
      const exchanged = `const [a, b, c] = document.querySelectorAll('[log-id]');
        [a.logId, b.logId, c.logId] = ['NL3', 'NL1', 'NL2']`;
      expect(await textsAfter(page, exchanged)).toEqual(SHOWN);
      // What is done is done.
      expect(looks.filter((log_id) => log_id === 'NL3')).toHaveLength(1);
    },
    MINUTE,
  );

  it(
    'that comes back after a while shows what it showed, and looks again',
    async () => {
      const { page } = await open('React 19');
      await page.evaluate("window.one = document.querySelector('[log-id=NL1]'); one.remove()");
      await page.waitForTimeout(100);
      expect(await textsAfter(page, 'document.body.append(window.one)')).toEqual(SHOWN);
    },
    MINUTE,
  );

  it(
    'that is about another notification is blank until it is known, and never shows the old one',
    async () => {
      const { page } = await open('React 19');
      const texts = await textsAfter(page, "document.querySelector('[log-id=NL1]').logId = 'NL2b'");
      expect(texts).toMatchObject({ NL2b: '' });
    },
    MINUTE,
  );

  it(
    'takes properties that were set before it was defined',
    async () => {
      const { page } = await openTab(browser, url);
      await page.goto('/page/blank');
      await page.evaluate(`{
      const early = document.createElement('notification-state');
      Object.assign(early, { id: 'early', state: 'failed', canRetry: true });
      document.body.append(early);
    }`);
      await page.addScriptTag({ type: 'module', content: pages.get(encodeURIComponent('Vue 3'))?.script ?? '' });
      await button(page, '#early').waitFor();
      expect(await page.locator('#early').evaluate((early) => early.outerHTML)).toContain('state="failed"');
    },
    MINUTE,
  );
});
