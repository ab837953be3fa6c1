import { expect, it } from 'vitest';
import { opened } from '../../../src/core/breaker/breaker.ts';
import { DEFAULT_BREAKER_POLICY as policy } from '../../../src/core/breaker/breaker-policy.ts';
import { noticeIn } from '../../../src/core/model/language/japanese-notices.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { reportDownProviders } from '../../../src/core/monitor/dead-providers.ts';
import { type Deaths, deathNotice, type Notice } from '../../../src/core/monitor/death-notice.ts';
import { at, dueRow, iso } from '../../support/rows.ts';

const PERIOD = { stack: 'notification-retry-test', from: iso(0), until: iso(300_000), more: true };

function deaths(count: number, causes: number): Deaths {
  const rows = Array.from({ length: causes }, (_, i) =>
    dueRow({
      log_id: `NL${i}`,
      send_status: 'FAILED',
      work_queue: workQueueOf('dead', 'normal', `NL${i}`),
      work_at: iso(0),
      integration_config_id: `IC${i}`,
      failure_reason: 'MAX_RETRIES',
      error_type: 'NETWORK_TIMEOUT',
    }),
  );
  return { priority: 'normal', tenant_id: 'TENANT001', count, sampled: causes, rows };
}

const died = [
  deaths(50, 25),
  ...['T2', 'T3', 'T4', 'T5', 'T6', 'T7'].map((id) => ({ ...deaths(1, 1), tenant_id: id })),
];

async function downNotices(): Promise<Notice[]> {
  const notices: Notice[] = [];
  const webhook = { id: 'webhook#t@hooks.example.com', error_type: 'SERVER_OVERLOAD' } as const;
  for (const days of [1, 3, 7]) {
    const now = at(days * 86_400_000);
    const breaker = { ...opened(webhook, undefined, { now, policy }), down_since: iso(0) };
    const providers = { list: async () => [breaker], note: async () => {} };
    await reportDownProviders({ providers, publish: async (notice) => void notices.push(notice), stack: 'stack' }, now);
  }
  return notices;
}

it('every line of a notice of deaths is Japanese, but for ids, codes and commands', async () => {
  const { subject, text } = noticeIn('ja', deathNotice(died, PERIOD));
  const [first, tenants, cause] = text.split('\n\n');
  expect(first).toBe(
    `${iso(0)} から ${iso(300_000)} までに通知 56 件を断念しました。運用者の判断を待っています。この期間の残りは、次のお知らせで伝えます。`,
  );
  expect(tenants).toBe('normal: 56（TENANT001 50, T2 1, T3 1, T4 1, T5 1、ほか 2 テナント）');
  expect(cause?.split('\n')).toEqual([
    expect.stringMatching(/^約 \d+ 件: \w+、連携設定 IC0: MAX_RETRIES、最後は NETWORK_TIMEOUT$/),
    expect.stringMatching(/^ {2}.*に接続できることを確かめ、リドライブしてください。$/),
    expect.stringMatching(/^ {2}(例: )?NL0/),
    expect.stringMatching(/^ {2}npm run ops -- list --status dead /),
  ]);
  expect(text).toMatch(/^ほか 5 種類の原因、通知 10 件: npm run ops/m);
  expect(subject).toBe('notification-retry-test: 56 notifications given up');
});

it('so is every line of a notice of providers that are down', async () => {
  const notices = await downNotices();
  expect(notices).toHaveLength(3);
  for (const notice of notices)
    for (const line of noticeIn('ja', notice).text.split('\n').filter(Boolean)) expect(line).toMatch(/[぀-ヿ一-鿿]/);
});

it('in English it is as it was, and a line that nobody has translated stays English', () => {
  const notice = deathNotice(died, { ...PERIOD, from: undefined });
  expect(noticeIn('en', notice)).toBe(notice);
  expect(noticeIn('ja', { text: 'A new sentence.\n  NL1, NL2\n' }).text).toBe('A new sentence.\n  NL1, NL2\n');
});
