import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createRenderings } from '../../src/adapters/post/post-renderer.ts';
import {
  mailToken,
  readMailToken,
  readUnsubscribeToken,
  unsubscribeToken,
} from '../../src/adapters/signing/signed-tokens.ts';
import { countBits } from '../../src/core/newsletter/model/batch-events.ts';
import type { StoredMember, Suppression } from '../../src/core/newsletter/model/member.ts';
import { MemoryChunks, MemoryEmails } from '../../tools/simulation/twins/newsletter-items.ts';
import { LINK_ENDS } from '../corpus/links/ends.ts';
import { batchRow, chunkState, emailContent, emailRow, recipient } from '../support/newsletter/job-rows.ts';
import { storedMember } from '../support/newsletter/members.ts';

const SECRET = 'a secret of some length for tests only';
const PLACE = { email_id: 'email-1', batch_id: '00003', chunk: 2, n: 1 };
/** Of an address, as suppressions are kept. */
const HASH = 'AbCdEfGhIjKlMnOpQrStUv';
const ring = (current: string, keys: readonly string[]) =>
  JSON.stringify({
    current,
    keys: Object.fromEntries(keys.map((id) => [id, `key ${id} of more than thirty-two characters`])),
  });

describe('a token', () => {
  it('names its recipient, and opens with its key only', () => {
    const token = unsubscribeToken(SECRET, PLACE);
    expect(readUnsubscribeToken(SECRET, token)).toEqual(PLACE);
    expect(readUnsubscribeToken('another secret', token)).toBeUndefined();
    expect(token).toMatch(/^[\w.-]+$/);
    const named = { ...PLACE, email_hash: HASH };
    expect(readUnsubscribeToken(SECRET, unsubscribeToken(SECRET, named))).toEqual(named);
  });

  it('is refused when anything of it is changed', () => {
    const token = unsubscribeToken(SECRET, { ...PLACE, email_hash: HASH });
    expect(readUnsubscribeToken(SECRET, token.replace(`.${HASH}`, ''))).toBeUndefined();
    for (let i = 0; i < token.length; i++) {
      const other = `${token.slice(0, i)}${token[i] === '1' ? '2' : '1'}${token.slice(i + 1)}`;
      expect(readUnsubscribeToken(SECRET, other), other).toBeUndefined();
    }
    for (const wrong of ['', 'x', `a${token}`, token.slice(0, -1)])
      expect(readUnsubscribeToken(SECRET, wrong)).toBeUndefined();
  });

  it('stays valid while its key is in the ring, whichever signs now', () => {
    const old = unsubscribeToken(ring('a', ['a']), PLACE);
    expect(readUnsubscribeToken(ring('b', ['a', 'b']), old)).toEqual(PLACE);
    expect(unsubscribeToken(ring('b', ['a', 'b']), PLACE)).toContain('.b.');
    expect(readUnsubscribeToken(ring('b', ['b']), old)).toBeUndefined();
    expect(() => unsubscribeToken('{"current":"a"}', PLACE)).toThrow(/must be one key/);
  });
});

describe('the unsubscribe link', () => {
  let createHandler: typeof import('../../functions/unsubscribe/handler.ts')['createHandler'];
  let tables: MemoryEmails;
  let chunks: MemoryChunks;
  let unsubscribed: string[];
  let suppressed: Suppression | undefined;
  let members: Map<string, StoredMember>;
  let now: Date;
  let reads: number;
  const since = '2026-03-01T11:00:00.000Z';

  beforeAll(async () => {
    const names = ['EMAILS_TABLE', 'EMAIL_BATCHES_TABLE', 'EMAIL_RECIPIENTS_TABLE', 'MEMBERS_TABLE', 'DATA_KEYS_TABLE'];
    for (const name of names) process.env[name] = 'table';
    Object.assign(process.env, {
      LOCAL_SECRETS_FILE: 'none.json',
      POWERTOOLS_METRICS_NAMESPACE: 'test',
      AWS_REGION: 'x',
    });
    ({ createHandler } = await import('../../functions/unsubscribe/handler.ts'));
  });
  beforeEach(async () => {
    now = new Date('2026-03-01T11:00:00.000Z');
    tables = new MemoryEmails(() => now);
    chunks = new MemoryChunks();
    unsubscribed = [];
    suppressed = undefined;
    members = new Map([['m-1', storedMember('tenant-1', 'm-1', { email_hash: 'hash-m1@example.com' })]]);
    reads = 0;
    const newsletter = { ...emailContent().newsletter, name: 'Cats & <Dogs>' };
    await tables.emails.create(emailRow({ expires_at: now.getTime() / 1000 + 60 }), emailContent({ newsletter }));
    const place = { email_id: 'email-1', batch_id: '00003', chunk: 2 };
    const maps = { reasons: {}, tries: {}, unanswered: {}, message_ids: {}, processed: {} };
    const chunk = { ...place, tenant_id: 'tenant-1', recipients: [recipient(0), recipient(1)] };
    await chunks.store.put([{ chunk, state: { ...place, version: 1, states: 'ss', ...maps } }]);
  });

  const ask = async (
    method: 'GET' | 'HEAD' | 'POST',
    token: string,
    more: { language?: string; broken?: boolean; body?: string } = {},
  ) => {
    const deps = {
      ...tables,
      emails: {
        content: tables.emails.content,
        read: (id: string) => {
          reads += 1;
          return more.broken ? Promise.reject(new Error('down')) : tables.emails.read(id);
        },
      },
      events: tables.events,
      renderings: createRenderings(),
      chunks: chunks.store,
      members: {
        unsubscribe: async (tenant: string, hash: string, newsletter: string) =>
          void unsubscribed.push(`${tenant} ${hash} ${newsletter}`),
        resubscribe: async (tenant: string, hash: string, newsletter: string) => {
          unsubscribed = unsubscribed.filter((one) => one !== `${tenant} ${hash} ${newsletter}`);
        },
        facts: async (tenant: string, hashes: readonly string[]) => {
          const left = hashes.filter((hash) => unsubscribed.includes(`${tenant} ${hash} news`));
          const facts = { tenant_id: tenant, unsubscribed: { news: since }, ...(suppressed && { suppressed }) };
          return new Map(left.map((email_hash) => [email_hash, { ...facts, email_hash }]));
        },
        read: async (_: string, member_id: string) => members.get(member_id),
      },
      sealing: { emailHash: async (_: string, email: string) => `hash-${email}` },
      secret: async () => SECRET,
      clock: () => now,
    };
    const handler = createHandler(deps, {
      logger: new Logger({ logLevel: 'SILENT' }),
      metrics: new Metrics({ namespace: 'test' }),
    });
    return handler({
      headers: { 'accept-language': more.language ?? 'en' },
      pathParameters: { token },
      requestContext: { http: { method } },
      body: Buffer.from(more.body ?? 'List-Unsubscribe=One-Click').toString('base64'),
      isBase64Encoded: true,
    } as unknown as APIGatewayProxyEventV2);
  };
  const bits = async () => countBits((await tables.events.read('email-1', '00003')).bits.unsubscribed);

  it('shows a page with one button, and changes nothing when it is only looked at', async () => {
    const { statusCode, body = '', headers } = await ask('GET', unsubscribeToken(SECRET, PLACE));
    expect(statusCode).toBe(200);
    expect(body).toContain('Unsubscribe from Cats &amp; &lt;Dogs&gt;?');
    expect(body.match(/<button/g)).toHaveLength(1);
    expect(body).toContain('<form method="post">');
    expect(body).not.toMatch(/<script|https?:|src=|@/);
    expect(headers?.['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(unsubscribed).toEqual([]);
    expect((await ask('GET', unsubscribeToken(SECRET, PLACE), { language: 'ja,en;q=0.5' })).body).toContain(
      'lang="ja"',
    );
  });

  it.each(LINK_ENDS)('opens with %j behind it, which a mail program took along', async (end) => {
    for (const place of [PLACE, { ...PLACE, email_hash: HASH }]) {
      const token = unsubscribeToken(SECRET, place) + end;
      expect((await ask('GET', token)).statusCode).toBe(200);
      expect((await ask('HEAD', token)).statusCode).toBe(200);
      expect((await ask('POST', token)).statusCode).toBe(200);
    }
  });

  it('unsubscribes by POST, counts once, and may be repeated', async () => {
    const token = unsubscribeToken(SECRET, PLACE);
    expect((await ask('POST', token)).statusCode).toBe(200);
    expect((await ask('POST', token)).statusCode).toBe(200);
    expect(new Set(unsubscribed)).toEqual(new Set(['tenant-1 hash-m1@example.com news']));
    expect(await bits()).toBe(1);
  });

  it('says what it has done when it is opened again, and takes it back', async () => {
    chunks = new MemoryChunks();
    const token = unsubscribeToken(SECRET, { ...PLACE, email_hash: HASH });
    const asked = (await ask('GET', token)).body ?? '';
    const fieldsOf = (body = '') =>
      [...body.matchAll(/name="([^"]*)" value="([^"]*)"/g)].map(([, name, value]) => `${name}=${value}`).join('&');
    const done = await ask('POST', token, { body: fieldsOf(asked) });
    expect(done.body).toContain('You get no more mail of Cats &amp; &lt;Dogs&gt;.');
    expect(unsubscribed).toEqual([`tenant-1 ${HASH} news`]);
    expect((await ask('POST', token)).body).not.toContain('<form');
    expect((await ask('GET', token)).body).toBe(done.body);
    const undone = await ask('POST', token, { body: fieldsOf(done.body) });
    expect(undone.body).toContain('You are subscribed to Cats &amp; &lt;Dogs&gt; again');
    expect(unsubscribed).toEqual([]);
    expect(await bits()).toBe(1);
    await ask('POST', token);
    now = new Date(now.getTime() + 86_400_000);
    await tables.emails.change((await tables.emails.read('email-1')) ?? emailRow(), {
      set: { expires_at: now.getTime() / 1000 + 60 },
    });
    expect((await ask('GET', token)).body).not.toContain('<form');
    expect((await ask('POST', token, { body: 'undo=1' })).statusCode).toBe(404);
    expect(unsubscribed).toHaveLength(1);
  });

  it('takes back nothing that another than its link has done, nor for who complained', async () => {
    chunks = new MemoryChunks();
    const token = unsubscribeToken(SECRET, { ...PLACE, email_hash: HASH });
    unsubscribed = [`tenant-1 ${HASH} news`];
    const seen = await ask('GET', token);
    expect(seen.body).toContain('You are unsubscribed');
    expect(seen.body).not.toContain('<form');
    expect((await ask('POST', token, { body: 'undo=1&page=1' })).statusCode).toBe(404);
    await ask('POST', token);
    expect((await ask('GET', token)).body).toContain('<form');
    suppressed = { reason: 'complained', at: since };
    expect((await ask('GET', token)).body).not.toContain('<form');
    expect((await ask('POST', token, { body: 'undo=1&page=1' })).statusCode).toBe(404);
    expect(new Set(unsubscribed)).toEqual(new Set([`tenant-1 ${HASH} news`]));
  });

  it('offers no way back from what was decided long ago, also to who posts once more', async () => {
    const token = unsubscribeToken(SECRET, { ...PLACE, email_hash: HASH });
    unsubscribed = [`tenant-1 ${HASH} news`];
    now = new Date(now.getTime() + 86_400_000);
    await tables.emails.change((await tables.emails.read('email-1')) ?? emailRow(), {
      set: { expires_at: now.getTime() / 1000 + 60 },
    });
    const { body } = await ask('POST', token, { body: 'page=1&List-Unsubscribe=One-Click' });
    expect(body).toContain('You get no more mail of Cats &amp; &lt;Dogs&gt;.');
    expect(body).not.toContain('<form');
  });

  it('speaks the language of its newsletter', async () => {
    const newsletter = { ...emailContent().newsletter, language: 'ja' as const };
    const email = emailRow({ email_id: 'email-ja', expires_at: now.getTime() / 1000 + 60 });
    await tables.emails.create(email, emailContent({ newsletter }));
    const token = unsubscribeToken(SECRET, { ...PLACE, email_id: 'email-ja', email_hash: HASH });
    for (const body of ['page=1', 'page=1&undo=1']) {
      expect((await ask('GET', token)).body).toContain('lang="ja"');
      expect((await ask('POST', token, { body })).body).toContain('lang="ja"');
    }
  });

  it('works when the recipients of its chunk have expired, by the hash of the address', async () => {
    chunks = new MemoryChunks();
    const token = unsubscribeToken(SECRET, { ...PLACE, email_hash: HASH });
    expect((await ask('POST', token)).statusCode).toBe(200);
    expect(unsubscribed).toEqual([`tenant-1 ${HASH} news`]);
    expect(await bits()).toBe(1);
    expect((await ask('POST', unsubscribeToken(SECRET, PLACE))).statusCode).toBe(404);
  });

  it('answers alike, after as many reads, whatever is wrong with it', async () => {
    const wrong = [
      'nonsense',
      '',
      `x${unsubscribeToken(SECRET, PLACE)}`,
      unsubscribeToken('another secret', PLACE),
      unsubscribeToken(SECRET, { ...PLACE, email_id: 'unknown' }),
    ];
    for (const method of ['GET', 'POST'] as const) {
      const answers = [];
      for (const token of wrong) {
        reads = 0;
        answers.push(await ask(method, token));
        expect(reads).toBe(1);
      }
      for (const one of answers) expect(one).toEqual(answers[0]);
      expect(answers[0]?.statusCode).toBe(404);
    }
    expect(await ask('POST', unsubscribeToken(SECRET, { ...PLACE, n: 9 }))).toEqual(await ask('POST', 'nonsense'));
    expect(unsubscribed).toEqual([]);
  });

  describe('with /mail behind it', () => {
    const link = unsubscribeToken(SECRET, { ...PLACE, email_hash: HASH });
    beforeEach(async () => {
      const body =
        '<html><body class="x"><script>x</script><p>Dear {name, "reader"} {email}</p>' +
        '<p data-gh-segment="status:paid">for members who pay</p></body></html>';
      const content = emailContent({ body, format: 'html' });
      await tables.emails.create(emailRow({ email_id: 'email-2', expires_at: now.getTime() / 1000 + 60 }), content);
      await tables.batches.put(batchRow({ email_id: 'email-2', batch_id: '00003', rendering: 1 }));
      const place = { email_id: 'email-2', batch_id: '00003', chunk: 2 };
      const state = { ...chunkState('ss', place) };
      const recipients = [recipient(0), recipient(1, { member_name: '<Ann>' })];
      await chunks.store.put([{ chunk: { ...place, tenant_id: 'tenant-1', recipients }, state }]);
    });
    const ofMember = unsubscribeToken(SECRET, { ...PLACE, email_id: 'email-2', email_hash: HASH });

    it('shows the mail as the member got it, and leads to a page to share without anything of the member', async () => {
      const { statusCode, body = '', headers = {} } = await ask('GET', `${ofMember}/mail`);
      expect(statusCode).toBe(200);
      expect(body).toContain('Dear &lt;Ann&gt; m1@example.com');
      expect(body).toContain('for members who pay');
      expect(body).toContain(`href="../${ofMember}"`);
      expect(body).not.toContain('ses:no-track');
      expect(headers['x-robots-tag']).toBe('noindex');
      expect(headers['content-security-policy']).toMatch(/^sandbox (?!.*allow-scripts).*default-src 'none'/);
      const [, share = ''] = /href="\.\.\/([^"]*\/mail)" style="color:#ffffff"/.exec(body) ?? [];
      const shared = await ask('GET', share);
      expect(shared.body).toContain('<p>Dear reader </p>');
      expect(shared.body).not.toMatch(/for members who pay|Ann|m1@|00003|Unsubscribe|no-member/);
      expect((await ask('GET', share.replace('/mail', ''))).statusCode).toBe(404);
      expect((await ask('POST', share)).statusCode).toBe(404);
      expect(unsubscribed).toEqual([]);
    });

    it('has no values any more once recipients have expired, and ends with the rows of its email', async () => {
      chunks = new MemoryChunks();
      expect((await ask('GET', `${ofMember}/mail`)).body).toContain('Dear reader ');
      now = new Date(now.getTime() + 61_000);
      for (const token of [ofMember, mailToken(SECRET, 'email-2')]) {
        expect((await ask('GET', `${token}/mail`)).statusCode).toBe(404);
      }
    });

    it('shows nothing of a member who was deleted or erased', async () => {
      members.clear();
      const { statusCode, body } = await ask('GET', `${ofMember}/mail`);
      expect(statusCode).toBe(200);
      expect(body).toContain('Dear reader ');
      expect(body).not.toMatch(/Ann|m1@/);
    });

    const shown = async (body: string, end = '') => {
      const email_id = `email-of-${body.length}`;
      const content = emailContent({ body, format: 'html' });
      await tables.emails.create(emailRow({ email_id, expires_at: now.getTime() / 1000 + 60 }), content);
      const own = unsubscribeToken(SECRET, { ...PLACE, email_id, email_hash: HASH });
      const pages = [`${own}${end}/mail`, `${mailToken(SECRET, email_id)}/mail`].map((token) => ask('GET', token));
      return (await Promise.all(pages)).map(({ body: page = '' }) => page);
    };

    it('tells its address to nobody, whatever the author says of referrers', async () => {
      const body =
        '<html><head><meta charset="utf-8"><meta content="unsafe-url" name=referrer></head><body>' +
        '<p>The referrer</p><img referrerpolicy="unsafe-url" alt="" src="https://x.example/?referrer=1"></body></html>';
      for (const page of await shown(body)) {
        expect(page).not.toMatch(/unsafe-url|name=referrer|referrerpolicy/);
        expect(page).toContain('<img alt="" src="https://x.example/?referrer=1">');
        expect(page).toContain('<meta charset="utf-8">');
        expect(page).toContain('<p>The referrer</p>');
      }
    });

    it('shares no word that stands for a link, also where the author wrote it as text', async () => {
      const [own, page] = await shown('<p>To leave: {unsubscribe_url} or {unsubscribe_url}</p>');
      expect(own).toContain('To leave: ../');
      expect(page).toContain('<p>To leave:  or </p>');
    });

    it('takes along nothing of what stands behind its token', async () => {
      const [page = ''] = await shown('<a href={unsubscribe_url}>leave</a>', ' style=x onclick=y');
      expect(page).toMatch(/href=\.\.\/[\w.-]+>leave/);
    });

    it('is made in little time of any HTML', async () => {
      const [, page = ''] = await shown(`<p>${'<a '.repeat(60_000)}</p>`);
      const begun = performance.now();
      expect((await ask('GET', `${mailToken(SECRET, 'email-of-180007')}/mail`)).body).toBe(page);
      expect(performance.now() - begun).toBeLessThan(2_000);
    });

    it('unsubscribes by POST all the same, and opens with no other token', async () => {
      expect((await ask('POST', `${link}/mail`)).statusCode).toBe(200);
      const token = mailToken(SECRET, 'email-2');
      expect(readMailToken(SECRET, `${token}/mail`)).toBe('email-2');
      for (let i = 0; i < token.length; i++) {
        const other = `${token.slice(0, i)}${token[i] === '1' ? '2' : '1'}${token.slice(i + 1)}`;
        expect(readMailToken(SECRET, other), other).toBeUndefined();
      }
      expect((await ask('GET', 'nonsense/mail')).statusCode).toBe(404);
    });
  });

  it('ends with the rows of its email', async () => {
    now = new Date(now.getTime() + 61_000);
    expect((await ask('POST', unsubscribeToken(SECRET, PLACE))).statusCode).toBe(404);
    expect(unsubscribed).toEqual([]);
  });

  it('asks to try again while storage is down', async () => {
    const { statusCode, headers } = await ask('POST', unsubscribeToken(SECRET, PLACE), { broken: true });
    expect(statusCode).toBe(503);
    expect(headers?.['retry-after']).toBe('60');
  });
});
