import { createHmac } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gapsOf, renderMailings, tally } from '../../tools/bench/peers/mailings.ts';
import { sharesOf } from '../../tools/bench/peers/profile.ts';
import { renderPeers } from '../../tools/bench/peers/rounds.ts';
import { cpuOf, treeOf } from '../../tools/bench/peers/servers.ts';
import { type Receiver, startReceiver } from '../../tools/bench/setup/receiver.ts';
import { createRandom } from '../../tools/simulation/engine/virtual-time.ts';

const KEY = Buffer.alloc(24, 7);
const SECRET = `whsec_${KEY.toString('base64')}`;

describe('the receiver of the peers', () => {
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await startReceiver(SECRET);
  });
  afterAll(() => receiver?.close());

  const post = async (id: string, key = KEY) => {
    const at = String(Math.floor(Date.now() / 1000));
    const signature = createHmac('sha256', key).update(`${id}.${at}.body`).digest('base64');
    const headers = { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': `v1,${signature}` };
    const { status } = await fetch(`${receiver.url}/flaky`, { method: 'POST', headers, body: 'body' });
    return status;
  };

  it('refuses about one in five once, and counts who is delivered and who twice', async () => {
    const ids = Array.from({ length: 100 }, (_, i) => `id-${i}`);
    const first = await Promise.all(ids.map((id) => post(id)));
    const refused = ids.filter((_, i) => first[i] === 503);
    expect(refused.length).toBeGreaterThan(10);
    expect(refused.length).toBeLessThan(30);
    expect([receiver.delivered(), receiver.doubled()]).toEqual([100 - refused.length, 0]);
    expect(new Set(await Promise.all(refused.map((id) => post(id))))).toEqual(new Set([200]));
    await post('id-0');
    expect([receiver.delivered(), receiver.doubled(), receiver.refused().size]).toEqual([100, 1, refused.length]);
    receiver.reset();
    expect(receiver.delivered()).toBe(0);
  });

  it('takes no webhook whose signature is wrong', async () => {
    expect(await post('id-1', Buffer.alloc(24, 8))).toBe(400);
  });
});

it.runIf(process.platform === 'linux')('the CPU of a server counts the work of its process', () => {
  const before = cpuOf([process.pid]);
  for (const started = process.cpuUsage(); process.cpuUsage(started).user < 100_000; );
  expect(cpuOf([process.pid]) - before).toBeGreaterThanOrEqual(10);
  expect(treeOf([process.pid])).toContain(process.pid);
  expect(treeOf([process.ppid])).toContain(process.pid);
  expect(treeOf([process.ppid, process.pid]).filter((pid) => pid === process.pid)).toHaveLength(1);
});

it('the table has the medians of the rounds', () => {
  const round = (worker_ms: number) => ({ worker_ms, cold_ms: 8, warm_ms: 0.5, server_ms: 1, seconds: 2, records: 3 });
  const deaths = { killed: 10, missing: 1, doubled: 2 };
  const table = renderPeers({
    count: 5,
    instructions: { one: 1_234_567 },
    results: [{ name: 'one', rounds: [9, 1, 2].map(round), deaths }],
    shares: [['posts', 0.256]],
  });
  expect(table).toContain('|one |2.00 |8.00 |0.50 |1.00 |2.0 |3 |1.23 million |10 |1 |2|');
  expect(table).toContain("our worker's CPU: posts 26 %");
});

it('the report has the budget: worker CPU against that of BullMQ, round by round', () => {
  const round = (worker_ms: number) => ({ worker_ms, cold_ms: 1, warm_ms: 1, server_ms: 1, seconds: 2, records: 3 });
  const results = [
    { name: 'ours', rounds: [3, 1, 2].map(round), deaths: undefined },
    { name: 'bullmq', rounds: [2, 1, 1].map(round), deaths: undefined },
  ];
  expect(renderPeers({ count: 5, instructions: {}, results, shares: [] })).toContain(
    'worker CPU, ours ÷ bullmq: 1.50, budget ≤ 1.4 (rounds: 1.50, 1.00, 2.00)',
  );
  expect(renderPeers({ count: 5, instructions: {}, results: results.slice(0, 1), shares: [] })).not.toContain('budget');
});

describe('a mailing whose sender is killed', () => {
  it.each([
    ['everybody once', ['a', 'b', 'c'], { reached: 3, missed: 0, doubled: 0 }],
    ['one three times, one not at all', ['a', 'a', 'b', 'a'], { reached: 2, missed: 1, doubled: 2 }],
    ['nobody', [], { reached: 0, missed: 3, doubled: 0 }],
  ])('is counted by recipient: %s', (_, to, counted) => {
    const mails = to.map((address) => ({ to: address }));
    expect(tally(mails, 3)).toEqual(counted);
  });

  it('is killed at the same random points of it for every system', () => {
    const gaps = gapsOf(10_000, 10, createRandom(1, 'kills'));
    expect(gaps).toEqual(gapsOf(10_000, 10, createRandom(1, 'kills')));
    expect(gaps).not.toEqual(gapsOf(10_000, 10, createRandom(2, 'kills')));
    expect(gaps).toHaveLength(10);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0);
    expect(gaps.reduce((sum, gap) => sum + gap, 0)).toBeLessThan(10_000);
  });

  it('has medians of the rounds in its table, and every status that was told', () => {
    const counted = { reached: 9, doubled: 0, sent: 8, uncertain: 1, seconds: 2, worker_ms: 0.5, server_ms: 1 };
    const rounds = [3, 1, 2].map((missed) => ({ ...counted, missed, killed: 10, status: `ended ${missed}` }));
    expect(renderMailings({ one: rounds })).toContain(
      '|one |10 |9 |2 |0 |8 |1 |2.0 |0.50 |1.00 |ended 3, ended 1, ended 2|',
    );
  });
});

it('the profile says what the CPU was used for: by the source of a frame, and of what it calls in Node', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'profile-')), 'index.mjs');
  writeFileSync(file, '// src/core/breaker/breaker-gate.ts\nadmit\n// src/adapters/sealing/sealer.ts\nopen\n');
  const url = pathToFileURL(file).href;
  const frame = (id: number, functionName: string, at: string, lineNumber: number, ...children: number[]) => ({
    id,
    callFrame: { functionName, url: at, lineNumber },
    children,
  });
  const shares = sharesOf({
    nodes: [
      frame(1, '(root)', '', -1, 2, 3, 5, 6),
      frame(2, 'admit', url, 1),
      frame(3, 'open', url, 3, 4),
      frame(4, 'emit', 'node:events', 1),
      frame(5, 'emit', 'node:events', 1),
      frame(6, '(idle)', '', -1),
    ],
    samples: [2, 3, 4, 5, 6],
    timeDeltas: [10, 20, 30, 40, 1_000],
  });
  expect(shares).toEqual([
    ['decryption', 0.5],
    ['sockets and HTTP in Node', 0.4],
    ['gates', 0.1],
  ]);
});
