import { createRequire } from 'node:module';
import { SESv2Client } from '@aws-sdk/client-sesv2';
import { afterEach, describe, expect, it } from 'vitest';
import { createBulkProvider } from '../../../src/adapters/ses-v2/bulk-provider.ts';
import { piecesOf } from '../../../src/core/newsletter/model/merge-fields.ts';
import type { BulkCall } from '../../../src/core/newsletter/model/provider.ts';
import type { HttpServer } from '../../../src/http/loopback-server.ts';
import { ReceivedLog } from '../../../src/local/providers/received-log.ts';
import { startSimulatedSes } from '../../../src/local/providers/ses/simulated-ses.ts';
import { resourcesOf, templateOf } from '../../support/lib/synthesize.ts';

interface Parsed {
  readonly from: { readonly value: readonly { readonly name: string; readonly address: string }[] };
  readonly to: { readonly value: readonly { readonly address: string }[] };
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly headers: ReadonlyMap<string, unknown>;
}
/** Another library than ours, which comes with the SES stand-in. */
const { simpleParser } = createRequire(import.meta.url)('mailparser') as {
  simpleParser(mail: string): Promise<Parsed>;
};

const SET = 'notification-retry-dev-newsletters';
const LINK = 'https://example.com/post?a=1&amp;b=2';
const NAME = { field: 'name' };
const HTML = `<p>こんにちは {name}</p><a class="x" href="${LINK}">read</a><a ses:no-track href="https://u.example/">out</a>`;

const CALL: BulkCall = {
  from: 'Weekly <weekly@example.com>',
  rendering: { subject: ['週刊 Hello ', NAME], html: piecesOf(HTML, 'text'), text: ['こんにちは ', NAME] },
  entries: [
    {
      to: 'click@example.com',
      values: { name: '花子' },
      unsubscribe_url: 'https://api.example.com/u/token',
      tags: { email_id: 'e1', chunk: '00000-0', n: '0' },
    },
  ],
  timeout_ms: 5_000,
};

/** What the stack deploys. */
function deployedSets() {
  const destinations = resourcesOf(templateOf({ stage: 'dev' }), 'AWS::SES::ConfigurationSetEventDestination');
  const named = new Map(
    resourcesOf(templateOf({ stage: 'dev' }), 'AWS::SES::ConfigurationSet').map(({ id, properties }) => [
      id,
      String(properties['Name']),
    ]),
  );
  return Object.fromEntries(
    destinations.map(({ properties }) => {
      const { Ref } = properties['ConfigurationSetName'] as { Ref: string };
      const { MatchingEventTypes } = properties['EventDestination'] as { MatchingEventTypes: string[] };
      return [named.get(Ref) ?? Ref, MatchingEventTypes];
    }),
  );
}

let server: HttpServer | undefined;
afterEach(() => server?.close());

async function delivered(call: Partial<BulkCall>, configurationSet = SET) {
  server = await startSimulatedSes('http://127.0.0.1:9', new ReceivedLog(), async () => {}, {
    configurationSets: deployedSets(),
  });
  const credentials = { accessKeyId: 'x', secretAccessKey: 'x' };
  const client = new SESv2Client({ endpoint: server.url, region: 'us-east-1', credentials, maxAttempts: 1 });
  const answer = await createBulkProvider({ client, configurationSet }).send({ ...CALL, ...call });
  const [receipt] = (await (await fetch(`${server.url}/_bulk`)).json()) as { message_id: string; events: string[] }[];
  const mail = receipt && (await (await fetch(`${server.url}/_bulk/${receipt.message_id}`)).text());
  return { answer, events: receipt?.events ?? [], mail: mail === undefined ? undefined : await simpleParser(mail) };
}

describe('a newsletter mail as its reader gets it', () => {
  it.each([
    ['Weekly <weekly@example.com>', 'Weekly', 'weekly@example.com'],
    ['週刊ニュース <weekly@example.com>', '週刊ニュース', 'weekly@example.com'],
    [
      'とても長い名前のニュースレター編集部（東京都千代田区） <w@example.com>',
      'とても長い名前のニュースレター編集部（東京都千代田区）',
      'w@example.com',
    ],
    ['Doe, Jane <jane@example.com>', 'Doe, Jane', 'jane@example.com'],
    ['Jane Doe; (Editor) <jane@example.com>', 'Jane Doe; (Editor)', 'jane@example.com'],
    ['weekly@example.com', '', 'weekly@example.com'],
    ['News <weekly@münchen.example>', 'News', 'weekly@münchen.example'],
  ])('is from %s, as another library reads it', async (from, name, address) => {
    const { mail } = await delivered({ from });
    expect(mail?.from.value).toEqual([{ name, address }]);
    expect(mail?.to.value.map((to) => to.address)).toEqual(['click@example.com']);
    expect(mail?.subject).toBe('週刊 Hello 花子');
    expect(mail?.text.trim()).toBe('こんにちは 花子');
    expect(mail?.html).toContain('こんにちは 花子');
    expect(mail?.headers.get('list')).toMatchObject({ unsubscribe: { url: 'https://api.example.com/u/token' } });
  });

  it.each([
    ['both', undefined, ['send', 'delivery', 'open', 'click']],
    ['opens', { opens: true, clicks: false }, ['send', 'delivery', 'open']],
    ['clicks', { opens: false, clicks: true }, ['send', 'delivery', 'click']],
    ['neither', { opens: false, clicks: false }, ['send', 'delivery']],
  ])('is tracked as its newsletter says: %s', async (_, track, expected) => {
    const { mail, events } = await delivered(track === undefined ? {} : { track });
    expect(events).toEqual(expected);
    const html = mail?.html ?? '';
    expect(html.includes(`href="${LINK}"`)).toBe(!(track?.clicks ?? true));
    const led = `awstrack.me/L0/${encodeURIComponent(LINK.replace('&amp;', '&'))}/1/`;
    expect(html.includes(led)).toBe(track?.clicks ?? true);
    expect(html.includes('<img')).toBe(track?.opens ?? true);
    expect(html).toContain('<a href="https://u.example/">out</a>');
  });

  it('says which list it is of, and who gets replies', async () => {
    const { mail } = await delivered({ list_id: 'weekly.T1.example.com', reply_to: 'us@example.com' });
    expect(mail?.headers.get('list')).toMatchObject({
      id: { name: 'weekly.T1.example.com' },
      unsubscribe: { url: 'https://api.example.com/u/token' },
    });
    expect(mail?.headers.get('reply-to')).toMatchObject({ text: 'us@example.com' });
  });

  it('does not go out with a configuration set that the stack does not have', async () => {
    const { answer, mail } = await delivered({}, 'notification-retry-dev-other');
    expect(answer).toMatchObject({ entries: [{ accepted: false, refusal: { class: 'settings' } }] });
    expect(mail).toBeUndefined();
  });
});
