import { appendFileSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BulkMails, type BulkReceipt } from '../../../src/local/providers/ses/bulk-mails.ts';
import { readBulkRequest, rendered } from '../../../src/local/providers/ses/bulk-request.ts';

const receipt = (n: number, changes: Partial<BulkReceipt> = {}): BulkReceipt => ({
  message_id: `m-${n}`,
  at: '2026-03-01T10:00:00.000Z',
  from: 'news@example.com',
  to: `r${n}@example.com`,
  subject: 'News',
  configuration_set: 'set',
  tags: { email_id: n % 2 === 0 ? 'even' : 'odd' },
  headers: {},
  events: ['send', 'delivery'],
  ...changes,
});
const fileIn = () => join(mkdtempSync(join(tmpdir(), 'bulk-mails-')), 'newsletter-mails.jsonl');
const ids = (mails: readonly BulkReceipt[]) => mails.map(({ message_id }) => message_id);

describe('the mails that the local SES accepted', () => {
  it('and the events that it owes survive a kill', () => {
    const file = fileIn();
    const mails = new BulkMails(file);
    mails.accept([receipt(0), receipt(1), receipt(2, { events: [] })]);
    mails.published(['m-0']);
    const again = new BulkMails(file);
    expect(ids(again.list())).toEqual(['m-0', 'm-1', 'm-2']);
    expect(ids(again.list('even'))).toEqual(['m-0', 'm-2']);
    expect(ids(again.owed)).toEqual(['m-1']);
  });

  it.each(['{"accepted":[{"message_id":"m-1"', '{"accepted":[{"headers":{}'])(
    'lose nothing after %s, which a kill has cut',
    (cut) => {
      const file = fileIn();
      new BulkMails(file).accept([receipt(0)]);
      appendFileSync(file, cut);
      new BulkMails(file).accept([receipt(2)]);
      expect(ids(new BulkMails(file).list())).toEqual(['m-0', 'm-2']);
      expect(readFileSync(file, 'utf8').endsWith('}\n')).toBe(true);
    },
  );

  it('counts the tries at an address', () => {
    const mails = new BulkMails();
    expect([mails.attempt('a'), mails.attempt('a'), mails.attempt('b')]).toEqual([0, 1, 0]);
  });
});

it('the local SES takes default data only for an entry without data of its own, as SES does', () => {
  const entry = (data?: object) => ({
    Destination: { ToAddresses: ['r@example.com'] },
    ...(data && {
      ReplacementEmailContent: { ReplacementTemplate: { ReplacementTemplateData: JSON.stringify(data) } },
    }),
  });
  const request = readBulkRequest(
    Buffer.from(
      JSON.stringify({
        FromEmailAddress: 'news@example.com',
        DefaultContent: {
          Template: { TemplateContent: { Subject: '{{lb}}{{name}}' }, TemplateData: '{"lb":"{","name":"all"}' },
        },
        BulkEmailEntries: [entry(), entry({}), entry({ name: 'Mori' }), entry({ lb: '{', name: 'Mori' })],
      }),
    ),
  );
  if (typeof request === 'string') throw new Error(request);
  const subjects = request.mails.map(({ values }) => rendered(request.template, values)?.subject);
  // The third is a Rendering Failure, after it was accepted.
  expect(subjects).toEqual(['{all', '{all', undefined, '{Mori']);
});
