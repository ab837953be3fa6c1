import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { slackMessage } from '../../src/adapters/slack/message.ts';
import { adaptiveCardMessage } from '../../src/adapters/teams/card.ts';
import { parsePost } from '../../src/cli/commands/emails/post.ts';
import { PROJECT_ROOT } from '../../src/local/runtime/directories.ts';
import { startLocalRuntime } from '../../src/local/runtime/runtime.ts';
import { firstRun } from '../../src/local/samples/first-run.ts';
import { arriving } from '../../test/support/newsletter/arriving.ts';
import { emailContent } from '../../test/support/newsletter/job-rows.ts';
import { launchChromium } from '../third-party/browser/find-chromium.ts';

/** Half a second, so that the samples' retries end while the script waits. */
const BASE_INTERVAL_SECONDS = 0.5;
const RETRIES_MS = 45_000;
const IMAGES = join(PROJECT_ROOT, 'docs', 'images');

interface Shot {
  readonly file: string;
  readonly path: string;
  readonly theme: 'light' | 'dark';
  readonly width: number;
  readonly height: number;
  /** What to do before the picture is taken. */
  readonly prepare?: (page: Page) => Promise<void>;
}

const WIDE = { width: 1360, height: 850 } as const;
const PHONE = { width: 360, height: 740 } as const;
const SLACK = '/dead-letters?channel=slack';

const openFirst = (name: RegExp) => async (page: Page) => {
  await page.getByRole('link', { name }).first().click();
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
};
const previewRedrive = async (page: Page) => {
  await page
    .getByRole('button', { name: /^Redrive/ })
    .first()
    .click();
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('button', { name: /^Redrive \d+ notification/ }).waitFor();
};

const WHO = { sender_name: 'Example Software Ltd', postal_address: '1 Harbour Street, London E1 6AN' };
const CONTACT = 'support@example.com';
const OF_WEEKLY = '?tenant=TENANT001&newsletter=weekly';
const MEMBERS = `member_id,email,name,status,labels,unsubscribed
m-1,ann@example.com,Ann Smith,paid,vip,
m-2,ben@example.com,Ben Okafor,free,,
m-3,hanako@example.jp,山田 花子,free,tokyo;vip,
m-4,cleo@example.com,Cleo Díaz,free,,weekly@2026-02-01T09:00:00Z
m-5,nobody,,free,,
`;

/** The newsletter, by the route that the page has for it. */
async function setUpWeekly(page: Page): Promise<void> {
  const weekly = {
    newsletter_id: 'weekly',
    name: 'Weekly',
    from: 'Weekly <news@example.com>',
    ...WHO,
    contact: CONTACT,
  };
  const data = { request_id: randomUUID(), tenant: 'TENANT001', known_at: null, ...weekly };
  const answer = await page.request.post('/api/newsletters', { data, headers: { origin: new URL(page.url()).origin } });
  if (!answer.ok()) throw new Error(`The newsletter is refused: ${await answer.text()}`);
}
const previewImport = async (page: Page) => {
  await page.getByRole('button', { name: 'Import…' }).click();
  const file = { name: 'members.csv', mimeType: 'text/csv', buffer: Buffer.from(MEMBERS) };
  await page.getByLabel('File', { exact: true }).setInputFiles(file);
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('Bad lines').waitFor();
};
const importMembers = async (page: Page) => {
  await previewImport(page);
  await page.getByRole('button', { name: /^Import \d+ lines?/ }).click();
  await page.getByRole('link', { name: 'm-3' }).waitFor();
  await page.getByRole('status').waitFor({ state: 'hidden' });
};
const previewMail = async (page: Page) => {
  const source = readFileSync(join(PROJECT_ROOT, 'examples/newsletters/digest.md'), 'utf8');
  const { subject, body } = parsePost(source, 'markdown', 'digest.md');
  await page.getByRole('button', { name: 'New e-mail' }).click();
  await page.getByLabel('Subject', { exact: true }).fill(String(subject));
  await page.getByLabel('Text', { exact: true }).fill(body);
  await page.getByRole('button', { name: 'Preview mail' }).click();
  await page.getByLabel('As this member').fill('m-3');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByText('hanako@example.jp').waitFor();
};

const SHOTS: readonly Shot[] = [
  { file: 'console-overview', path: '/', theme: 'light', ...WIDE },
  { file: 'console-overview-dark', path: '/', theme: 'dark', ...WIDE },
  { file: 'console-notifications', path: '/notifications', theme: 'light', ...WIDE },
  { file: 'console-notification', path: SLACK, theme: 'light', ...WIDE, prepare: openFirst(/^sample-/) },
  { file: 'console-dead-letters', path: '/dead-letters', theme: 'light', ...WIDE },
  { file: 'console-redrive', path: SLACK, theme: 'dark', ...WIDE, prepare: previewRedrive },
  { file: 'console-phone', path: '/', theme: 'dark', ...PHONE },
  { file: 'console-phone-notifications', path: '/notifications', theme: 'light', ...PHONE },
  { file: 'console-import', path: `/newsletters/members${OF_WEEKLY}`, theme: 'light', ...WIDE, prepare: previewImport },
  {
    file: 'console-members',
    path: `/newsletters/members${OF_WEEKLY}`,
    theme: 'light',
    ...WIDE,
    prepare: importMembers,
  },
  {
    file: 'console-mail-preview',
    path: '/newsletters?tenant=TENANT001',
    theme: 'light',
    ...WIDE,
    prepare: previewMail,
  },
];

/** The examples of newsletters as a member gets them, and their pictures: docs/images/newsletter-*.png. */
const MAILS = [
  ['digest.md', 'markdown', 'light', 600],
  ['digest.md', 'markdown', 'dark', 360],
  ['designed.html', 'html', 'dark', 360],
  ['plain.txt', 'text', 'light', 360],
] as const;

const NEWSLETTER = { ...emailContent().newsletter, ...WHO, name: 'Weekly', contact: CONTACT };
const JA = { sender_name: '株式会社エグザンプル', postal_address: '〒100-0001 東京都千代田区千代田1-1' };
const JAPANESE = { ...NEWSLETTER, ...JA, name: '定例のお知らせ', language: 'ja' } as const;

async function showNewsletters(browser: Browser): Promise<void> {
  // Without a font Japanese is boxes.
  const fonts = execFileSync('fc-list', [':lang=ja'], { encoding: 'utf8' });
  if (fonts === '') execFileSync('apt-get', ['install', '-y', 'fonts-ipafont-gothic'], { stdio: 'inherit' });
  const body = `<svg xmlns="http://www.w3.org/2000/svg" width="1600" height="400"><rect width="1600" height="400" fill="#b9cdea"/></svg>`;
  for (const [file, format, colorScheme, width] of MAILS) {
    const source = readFileSync(join(PROJECT_ROOT, 'examples/newsletters', file), 'utf8');
    const post = { ...parsePost(source, format, file), newsletter: format === 'text' ? JAPANESE : NEWSLETTER };
    const page = await browser.newPage({ colorScheme, viewport: { width, height: 600 } });
    await page.route('https://img.example.com/*', (route) => route.fulfill({ contentType: 'image/svg+xml', body }));
    await page.setContent((await arriving(post)).html, { waitUntil: 'networkidle' });
    const name = `newsletter-${file.replace(/\..*/, '')}-${colorScheme}.png`;
    await page.screenshot({ path: join(IMAGES, name), fullPage: true });
    await page.close();
    process.stdout.write(`docs/images/${name}\n`);
  }
}

const NODE_TOOLS = join(PROJECT_ROOT, '.local', 'tools', 'node', 'node_modules');
const CHAT_STYLE = `body{margin:0;display:flex;background:#fff;font:15px/1.46 "Open Sans",sans-serif}
  body>div{box-sizing:border-box;width:50%;padding:20px 24px}h1{margin:0 0 12px;font-size:13px;color:#616061}
  .teams{background:#f5f5f5}.card{background:#fff;border-radius:6px}.slack a{color:#1264a3}
  .slack code,.slack pre{border:1px solid #0003;border-radius:4px;background:#0000000a;padding:1px 3px;white-space:pre-wrap}
  .slack pre{padding:8px}.slack pre code{border:0;padding:0;background:none}
  .slack blockquote{margin:0;padding-left:12px;border-left:4px solid #ddd}`;

/**
 * The corpus's newsletter as a notification: Slack's text as slack-markdown reads it, and the card by Microsoft's own
 * renderer, docs/images/chats.png. The frames around them are ours.
 */
async function showChats(browser: Browser): Promise<void> {
  const post = readFileSync(join(PROJECT_ROOT, 'test/corpus/bodies/newsletter.md'), 'utf8');
  const [, subject = '', source = ''] = /^# ([^\n]*)\n+([\s\S]*)/.exec(post) ?? [];
  // Fields are a newsletter's.
  const body = source.replaceAll(/(?<!\{)\{\w+(?:, "([^"]*)")?\}/g, (_, fallback = 'ann@example.com') => fallback);
  const content = { recipient: '#releases', subject, format: 'MARKDOWN', body } as const;
  const tool = createRequire(join(NODE_TOOLS, 'of.js'));
  const { text } = await slackMessage(content);
  const read: string = tool('slack-markdown').toHTML(text, { escapeHTML: false });
  // It escapes in code what is escaped there already.
  const slack = read.replaceAll(/&amp;(?=(?:amp|lt|gt);)/g, '&');
  const { content: card } = JSON.parse(await adaptiveCardMessage(content)).attachments[0];
  const markdown = new (tool('markdown-it'))();
  const blocks = card.body.map(({ text }: { readonly text: string }) => [text, markdown.render(text)]);
  const page = await browser.newPage({ viewport: { width: 1_120, height: 600 } });
  const frames = `<div class="slack"><h1>Slack</h1>${slack}</div><div class="teams"><h1>Teams</h1><div class="card"></div></div>`;
  await page.setContent(`<!doctype html><style>${CHAT_STYLE}</style>${frames}`);
  await page.addScriptTag({ path: join(NODE_TOOLS, 'adaptivecards', 'dist', 'adaptivecards.min.js') });
  await page.evaluate(`{
    const blocks = new Map(${JSON.stringify(blocks)});
    AdaptiveCards.AdaptiveCard.onProcessMarkdown = (text, result) =>
      Object.assign(result, { outputHtml: blocks.get(text), didProcess: true });
    const card = new AdaptiveCards.AdaptiveCard();
    card.parse(${JSON.stringify(card)});
    document.querySelector('.card').append(card.render());
  }`);
  await page.screenshot({ path: join(IMAGES, 'chats.png'), fullPage: true });
  await page.close();
  process.stdout.write('docs/images/chats.png\n');
}

/** Pictures of the console with the sample data, as `npm start` shows it: docs/images/console-*.png. */
async function main(): Promise<void> {
  const browser = await launchChromium('--no-sandbox');
  await showNewsletters(browser);
  await showChats(browser);
  const workDir = mkdtempSync(join(tmpdir(), 'screenshots-'));
  const runtime = await startLocalRuntime({ workDir, baseIntervalSeconds: BASE_INTERVAL_SECONDS, schedule: 'off' });
  try {
    await firstRun(runtime);
    await setTimeout(RETRIES_MS);
    mkdirSync(IMAGES, { recursive: true });
    const first = await browser.newPage({ baseURL: runtime.endpoints.endpoints.console });
    await first.goto('/');
    await setUpWeekly(first);
    await first.close();
    for (const { file, path, theme, prepare, ...viewport } of SHOTS) {
      const baseURL = runtime.endpoints.endpoints.console;
      const context = await browser.newContext({ baseURL, colorScheme: theme, viewport, locale: 'en-GB' });
      const page = await context.newPage();
      await page.goto(path);
      await page.waitForLoadState('networkidle');
      await prepare?.(page);
      await page.screenshot({ path: join(IMAGES, `${file}.png`) });
      await context.close();
      process.stdout.write(`docs/images/${file}.png\n`);
    }
  } finally {
    await browser.close();
    await runtime.stop();
    rmSync(workDir, { recursive: true, force: true });
  }
}

await main();
process.exit();
