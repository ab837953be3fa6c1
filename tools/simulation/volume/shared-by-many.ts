import { createSecretKey, randomBytes } from 'node:crypto';
import { createBatchStore } from '../../../src/adapters/dynamodb/newsletter/batch-store.ts';
import { createEventStore } from '../../../src/adapters/dynamodb/newsletter/event-store.ts';
import { toItem } from '../../../src/adapters/dynamodb/table/item.ts';
import { createSealer } from '../../../src/adapters/sealing/sealer.ts';
import { type EmailAccess, showEmail } from '../../../src/application/emails/emails.ts';
import { forgetRecipient, recipientOf } from '../../../src/application/scans/forget.ts';
import { VERIFY_RATE } from '../../../src/application/scans/verify.ts';
import { successorId } from '../../../src/core/delivery/failover.ts';
import { newForget } from '../../../src/core/forget/forget-state.ts';
import { SEALED } from '../../../src/core/model/notification.ts';
import { BATCH_SIZE, batchId, MOST_BATCHES, NO_RECIPIENTS } from '../../../src/core/newsletter/model/batch.ts';
import { EVENT_KINDS } from '../../../src/core/newsletter/model/batch-events.ts';
import { SEGMENTS } from '../../../src/core/verify/verification.ts';
import { START } from '../engine/virtual-time.ts';
import { MemoryTables } from '../twins/memory-tables.ts';
import { alike, BYTES, TABLES, within } from './everything.ts';
import type { Found, NamedVolume, Volume } from './volume.ts';
import { evenly, idOf, type VolumeTable } from './volume-dynamodb.ts';

const tenant_id = 'tenant-1';
const purpose = SEALED.recipients;
const ADDRESS = 'leaver@example.com';

/** Erases somebody who is the fallback of all these notifications, as `ops forget` does; each content is opened. */
async function forgetFallback(volume: Volume): Promise<Found> {
  const { time, count } = volume;
  const { clock, pause } = time;
  const key = createSecretKey(randomBytes(32));
  const sealer = createSealer({
    current: async () => ({ key_id: `${purpose}#2026-03`, key }),
    find: async () => key,
  });
  const sealed = async (row: number) =>
    toItem({
      tenant_id,
      log_id: idOf(row),
      encrypted_recipient: await sealer.seal({ tenant_id, purpose, id: idOf(row) }, `reader-${row}@example.com`),
      encrypted_fallback_recipient: await sealer.seal({ tenant_id, purpose, id: successorId(idOf(row)) }, ADDRESS),
    });
  const segments = evenly(count, SEGMENTS);
  const { client, used } = volume.store(
    {
      [TABLES.notification_log]: { ...segments, ...alike({ tenant_id }, BYTES.row), fits: () => false },
      [TABLES.notification_content]: { ...segments, bytes: () => BYTES.content, item: sealed },
    },
    { item_ms: 0, change_units: 2 },
    1,
  );
  const deployment = { tables: TABLES, recipientHashKey: async () => 'key', sealer: () => sealer };
  // What erases a fallback asks for nothing else of an operator's.
  const deps = { dynamodb: client, deployment, clock, records: new MemoryTables(clock).records, newId: () => '1' };
  const state = newForget(clock());
  const given = { dry_run: false, rate: VERIFY_RATE, isStopping: () => false, pause };
  const operator = deps as unknown as Parameters<typeof forgetRecipient>[3];
  const recipient = await recipientOf(tenant_id, ADDRESS, operator);
  await time.run(() => forgetRecipient(recipient, state, given, operator).run());
  return {
    shown: { 'write units each': used.write / count },
    holds: {
      'it is done': state.phase === 'done',
      'all are erased': state.fallbacks === count && used.write === 2 * count,
    },
    budgets: [
      // A scan of rows and contents, and a look at what was handed on meanwhile.
      ['read units each', used.read / count, 1.35],
      [
        'seconds of CPU for each 100,000, sealing them for the simulation included',
        (volume.cpu_seconds - 1) * (1e5 / count),
        60,
      ],
      ['milliseconds each, beside 80 seconds', (volume.seconds * 1_000 - 80_000) / count, 5],
      ['megabytes in memory', volume.heap_mb, 50],
    ],
  };
}

export const SHARED_FALLBACK: NamedVolume = {
  name: 'shared-fallback-forgotten',
  describes: 'an address is erased that is the fallback of all these notifications',
  notifications: 100_000,
  volume: forgetFallback,
};

/** Of a batch, or of its events: 17 µs of CPU. */
const BATCH_MS = 0.12;
/** Seconds that the API's functions have. */
const API_SECONDS = 20;
const AT = START.toISOString();

/** A look at the status of a mailing: it sums up its batches, and their events. */
async function showMailing(volume: Volume): Promise<Found> {
  const { time, count } = volume;
  const common = { email_id: 'email-1', tenant_id: 'tenant-1', version: 30, created_at: AT, updated_at: AT };
  const counts = { ...NO_RECIPIENTS, submitted: BATCH_SIZE };
  const settled = { status: 'submitted', rendering: 0, member_segment: '', fallback_sending_domain: false, chunks: 20 };
  const progress = Array.from({ length: 8 }, (_, i) => ({ at: START.getTime() / 1_000 + i, done: 125 * i }));
  const provider_id = '0100019a-1111-2222-3333-444444444444-000000';
  const batch = { ...common, ...settled, counts, excluded_by_reason: {}, failed_by_reason: {}, progress, provider_id };
  const told = Object.fromEntries(EVENT_KINDS.map((kind) => [kind, new Uint8Array(BATCH_SIZE / 8).fill(255)]));
  const tableOf = (item: object, prefix: string, bytes: number): VolumeTable => {
    const stored = toItem(item);
    const item_ = (row: number) => ({ ...stored, batch_id: { S: `${prefix}${batchId(row)}` } });
    return { size: () => count, rowAt: (_, at) => at, placeOf: (_, row) => row, item: item_, bytes: () => bytes };
  };
  const { client } = volume.store(
    {
      batches: tableOf(batch, '', Buffer.byteLength(JSON.stringify(batch))),
      'batches/events#': tableOf({ ...common, ...told }, 'events#', 100 + EVENT_KINDS.length * (BATCH_SIZE / 8 + 10)),
    },
    { item_ms: BATCH_MS },
    2,
  );
  const prepared = { recipients: count * BATCH_SIZE, excluded: 0, excluded_by_reason: {}, batches: count, at: AT };
  const email = { ...common, newsletter_id: 'weekly', status: 'submitting', paused: false, slots: {}, prepared };
  const access = {
    emails: { read: async () => email },
    batches: createBatchStore(client, 'batches', time.clock),
    events: createEventStore(client, 'batches', time.clock),
    budgets: { read: async () => ({}) },
    clock: time.clock,
    tenant_id: 'tenant-1',
  } as unknown as EmailAccess;
  const { view } = await time.run(() => showEmail('email-1', access));
  volume.reached(1.1);
  const all = prepared.recipients;
  return {
    shown: { recipients: all },
    holds: { 'all recipients are counted': view.counts.submitted === all && view.counts.delivered === all },
    budgets: [
      ['seconds of a look', volume.seconds, API_SECONDS],
      ...within(volume, { read_units: 0.7, ms: 0.8, cpu_us: 600, heap_mb: 250 }),
    ],
  };
}

export const LARGE_MAILING: NamedVolume = {
  name: 'status-of-a-large-mailing',
  describes: 'a look at a mailing of this many batches, the most that it may have',
  notifications: MOST_BATCHES,
  volume: showMailing,
};
