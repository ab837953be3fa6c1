import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { endOf } from '../../tools/simulation/audit/consumer-promises.ts';
import { Flow } from '../support/flow/harness.ts';
import { killFunction } from '../support/flow/kill-function.ts';
import { eventually } from '../support/local/tiny-app.ts';

interface Told {
  readonly 'detail-type': string;
  readonly source: string;
  readonly detail: { readonly event_id: string; readonly log_id: string; readonly status: string };
}

let flow: Flow;
const REFUSED_MS = Number(process.env['BUS_REFUSES_MS'] ?? 60_000);

/** What a failure shows of a row: neither its address nor its body. */
const SHOWN = ['log_id', 'send_status', 'send_attempts', 'work_queue', 'next_retry_at'];

/** How many notifications end how. */
const ENDS = [
  ['ok', 320],
  ['flaky-1', 60],
  ['gone', 60],
  ['unauthorized', 40],
  ['', 20],
] as const;
const rows = () =>
  ENDS.flatMap(([word, count]) =>
    Array.from({ length: count }, (_, i) => ({
      log_id: `${word || 'malformed'}-${i}`,
      notification_id: `order-${word}-${i}`,
      tenant_id: 'TENANT001',
      notification_type: 'WEBHOOK',
      message_body: '本文',
      send_status: 'FAILED',
      send_attempts: 1,
      ...(word && { recipient_address: `${flow.endpoints.endpoints.simulator}/webhook/${word}/${i}` }),
    })),
  );

async function told(): Promise<readonly Told[]> {
  const answer = await fetch(flow.endpoints.endpoints.outcomes);
  return ((await answer.json()) as { outcomes: Told[] }).outcomes;
}

// A second try begins with tables of its own.
beforeEach(async () => {
  flow = new Flow();
  await flow.start({ baseIntervalSeconds: 1 });
}, 180_000);
afterEach(() => flow.end(), 60_000);

it(
  'each of 500 notifications has its event, and none that contradicts its row, though the bus refuses and the function is killed',
  async () => {
    const { pid, functions } = flow.endpoints;
    const teller = functions['outcomes'] ?? '';
    const given = rows();
    expect(given).toHaveLength(500);
    await flow.receiver('/eventbridge', 'down');
    const back = setTimeout(REFUSED_MS).then(() => flow.receiver('/eventbridge', 'up'));
    let kills = 0;
    let quiet = false;
    const killing = (async () => {
      while (!quiet) {
        if (killFunction(pid, teller)) kills += 1;
        await setTimeout(300 + Math.random() * 1_500);
      }
    })();

    await flow.put(given);
    let open: readonly unknown[] = given;
    const ended = async () => {
      // As the schedule does: what the stream had not shown yet, or a breaker held, is due for the next sweep.
      await flow.job();
      const all = await flow.rows();
      open = all.filter((row) => endOf(row) === undefined);
      return all.length === given.length && open.length === 0 ? all : undefined;
    };
    const all = await eventually(ended, 120_000).catch((cause) => {
      throw new Error(`${open.length} have no end: ${JSON.stringify(open.slice(0, 3), SHOWN)}`, { cause });
    });
    await back;
    // The last kills meet a bus that takes everything.
    await setTimeout(5_000);
    quiet = true;
    await killing;
    await eventually(async () => {
      const known = new Set((await told()).map(({ detail }) => detail.log_id));
      return all.every(({ log_id }) => known.has(String(log_id))) ? true : undefined;
    }, 120_000);

    expect(kills).toBeGreaterThan(5);
    const outcomes = await told();
    const ends = new Map(all.map((row) => [row['log_id'], row]));
    for (const { source, detail, ...event } of outcomes) {
      const row = ends.get(detail.log_id);
      expect(source).toBe('notification-retry');
      if (event['detail-type'] === 'Provider Down' || event['detail-type'] === 'Provider Up') continue;
      expect(event['detail-type'], detail.log_id).toBe(endOf(row ?? {}));
      expect(detail.status, detail.log_id).toBe(row?.['send_status']);
    }
    // One id per notification, however often it was told.
    for (const [log_id, events] of Map.groupBy(outcomes, ({ detail }) => detail.log_id))
      expect(new Set(events.map(({ detail }) => detail.event_id)).size, log_id).toBe(1);
    expect(JSON.stringify(outcomes)).not.toMatch(/本文|\/webhook\//);
  },
  REFUSED_MS + 300_000,
);
