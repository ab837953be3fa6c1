import { expect, it } from 'vitest';
import { drawHistory, type RandomHistory, shrink } from '../../tools/simulation/histories/random-history.ts';
import { HOSTILE_KINDS, hostileRow } from '../support/intruder-rows.ts';
import { SEED } from '../support/seed.ts';

const RUNS = Number(process.env['FAULT_RUNS'] ?? 120);

/**
 * Histories that broke a promise once: a refill walked the index in vain, a letter was redriven before its death, a corrected
 * row kept the letter of its death, the bounce of a former recipient ended what its writer had corrected, two images with
 * the same content began two lives, a record stayed as failed that a complaint had shown to have arrived, because the row was
 * replaced meanwhile. In the last, a claim is given back, and its number is used.
 */
const KEPT = [218_259, 509_045, 770_075, 2_183, 6_985, 204_412, 20_280_303, 20_268_303];

/** What the stories have to tell of, or they say little. */
const TOLD = [
  / dies/,
  /^late: /,
  /: refused$/,
  /: applied, and the client repeats it$/,
  /: hangs$/,
  /: nothing now$/,
  /^SQS shows/,
  /^SQS loses/,
  /while actors wait$/,
  /^records. refuses every call$/,
  /^the provider is down$/,
  /^an operator redrives/,
  /^an operator cancels/,
  /^an operator retries/,
  /^a user retries/,
  /^an operator begins a bulk redrive$/,
  /^an operator begins a bulk retry$/,
  /^the bulk of .* calls operations.change$/,
  /^a producer hands over/,
  /^somebody puts/,
  /'s writer deletes it$/,
  /'s writer corrects its recipient$/,
  /'s writer puts it anew$/,
  /^an operator erases/,
  /'s writer spoils its limit$/,
  /^indexer .* takes in/,
  /^indexer .* behind another$/,
  /^the provider reports .*: failed/,
  /calls breakers.takeSlot$/,
  /calls successors.put$/,
  /^a sweep begins: .*force_retry/,
  /^a sweep begins: .*express/,
  /^a sweep begins: .*dry_run/,
  /, as it was a write ago$/,
  /^an operator gives .* up$/,
  /'s producer reports a failure: INVALID_RECIPIENT$/,
  /^an operator verifies$/,
  /^somebody queues .* for another tenant$/,
];

async function told({ seed, history }: { seed: number; history: RandomHistory }): Promise<string> {
  const lines = (await shrink(history)).map((line) => `  ${line}`);
  return [`FAULT_SEED=${seed} FAULT_RUNS=1: ${history.violations.join('; ')}`, ...lines].join('\n');
}

it(
  'any history keeps the promises: interleavings, deaths, refusals, hangs, lost answers, repeats, outages, edits, events, operators, intruders',
  async () => {
    const kinds = Array.from({ length: HOSTILE_KINDS }, (_, kind) => kind);
    const at = new Date('2026-03-01T10:30:00.000Z');
    const untold = new Set(TOLD);
    const ends = new Map<string, number>();
    const kindsTold = new Set<string>();
    for (const seed of [...KEPT, ...Array.from({ length: RUNS }, (_, i) => SEED + i)]) {
      const intruders = [0, 1, 2].map((i) => hostileRow(kinds[(7 * seed + 101 * i) % kinds.length] ?? 0, at));
      const history = await drawHistory(seed, intruders);
      if (history.violations.length > 0) expect.fail(await told({ seed, history }));
      for (const kind of history.told) kindsTold.add(kind);
      for (const pattern of untold) if (history.story.some((line) => pattern.test(line))) untold.delete(pattern);
      for (const { failure_reason, send_status } of history.rows) {
        const end = String(failure_reason ?? send_status);
        ends.set(end, (ends.get(end) ?? 0) + 1);
      }
    }
    if (RUNS < 100) return;
    expect([...untold].map(String)).toEqual([]);
    expect([...kindsTold].sort()).toEqual(['Notification Bounced', 'Notification Delivered', 'Notification Given Up']);
    for (const end of ['SUCCESS', 'INVALID_RECIPIENT', 'FORMAT_ERROR', 'CANCELLED', 'AUTH_FAILED'])
      expect(ends.get(end) ?? 0, end).toBeGreaterThan(0);
  },
  Math.max(120_000, RUNS * 500),
);
