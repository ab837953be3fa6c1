import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { Breaker } from '../../../core/breaker/breaker.ts';
import type { BreakerStore } from '../../../core/breaker/shared-breakers.ts';
import type { Lane } from '../../../core/model/channels.ts';
import { type Guard, nextVersion } from '../../../core/model/row-change.ts';
import type { Clock } from '../../../core/model/time.ts';
import type { DownProviders } from '../../../core/monitor/dead-providers.ts';
import { GatheredError, gather, SETTLE_WAIT_MS } from '../../batching/gather.ts';
import { BREAKER_KIND } from '../schema.ts';
import type { Item } from '../table/item.ts';
import { getItems, MAX_GETS, query, queryAll } from '../table/reads.ts';
import { updateItem } from '../table/writes.ts';

/** A breaker expires after this time without a change, as have all notifications that it could hold. */
const KEPT_SECONDS = 2 * 86_400;

interface TakenSlot {
  readonly slot: number;
  readonly breaker: Breaker;
}

/** BreakerStore on PipelineState: one item per breaker. */
export function createBreakerStore(client: DynamoDBClient, table: string, clock: Clock): BreakerStore & DownProviders {
  const breakers = { table, key: { kind: BREAKER_KIND } };
  const takeSlots = slotTaker(client, table);
  const readNewest = reader(client, table, { consistent: true });
  const readRecent = reader(client, table, { consistent: false });

  return {
    async list() {
      const only = ['expires_at', '>', Math.floor(clock().getTime() / 1000)] as const;
      return (await queryAll(client, { ...breakers, only })).map(fromItem);
    },

    async first(limit) {
      const { items, next } = await query(client, { ...breakers, limit });
      return { breakers: items.map(fromItem), all: next === undefined };
    },

    read: (id, { newest }) => (newest ? readNewest : readRecent)(id),

    async write(breaker) {
      const { id, lines, noted: _, ...rest } = breaker;
      const set = {
        ...rest,
        express_from: lines.express.from,
        standard_from: lines.standard.from,
        expires_at: Math.floor(clock().getTime() / 1000) + KEPT_SECONDS,
      };
      const remove = (['drained_at', 'draining_since'] as const).filter((name) => breaker[name] === undefined);
      return (await updateItem(client, table, keyOf(id), { set, remove }, nextVersion('id', breaker.version))).applied;
    },

    async note(id, noted) {
      await updateItem(client, table, keyOf(id), { set: { noted } }, [thereIs(id)]);
    },

    takeSlot: (id, lane) => takeSlots({ id, lane }),
  };
}

const keyOf = (id: string) => ({ kind: { S: BREAKER_KIND }, id: { S: id } });

const thereIs = (id: string): Guard => [['id', '=', id]];

/** One call reads all breakers that are asked for at the same moment. */
function reader(client: DynamoDBClient, table: string, { consistent }: { readonly consistent: boolean }) {
  return gather<string, Breaker | undefined>(
    async (ids) => {
      const items = await getItems(client, table, ids.map(keyOf), { consistent });
      const byId = new Map(items.map((item) => [item['id']?.S, item]));
      return ids.map((id) => {
        const item = byId.get(id);
        return item && fromItem(item);
      });
    },
    { max: MAX_GETS, keyOf: (id) => id },
  );
}

interface Line {
  readonly id: string;
  readonly lane: Lane;
}

/** One write takes all slots that a batch needs at the same moment in a line; one that fails leaves the others. */
function slotTaker(client: DynamoDBClient, table: string): (line: Line) => Promise<TakenSlot | undefined> {
  return gather<Line, TakenSlot | undefined>(
    async (wanted) => {
      const lines = [...Map.groupBy(wanted, ({ id, lane }) => `${lane} ${id}`).values()];
      const taken = new Map<Line, TakenSlot | GatheredError>();
      const take = async (line: readonly Line[]) => {
        const [first] = line;
        try {
          const breaker = first && (await addSlots(client, table, first, line.length));
          if (first === undefined || breaker === undefined) return;
          const from = breaker.lines[first.lane].slots - line.length;
          for (const [i, one] of line.entries()) taken.set(one, { slot: from + i, breaker });
        } catch (error) {
          for (const one of line) taken.set(one, new GatheredError(error));
        }
      };
      await Promise.all(lines.map((line) => take(line)));
      return wanted.map((one) => taken.get(one));
    },
    { max: 1_000, wait_ms: SETTLE_WAIT_MS },
  );
}

async function addSlots(
  client: DynamoDBClient,
  table: string,
  { id, lane }: Line,
  count: number,
): Promise<Breaker | undefined> {
  const change = { add: { [`${lane}_slots`]: count }, returned: 'ALL_NEW' } as const;
  const { applied, item } = await updateItem(client, table, keyOf(id), change, [thereIs(id)]);
  return applied && item ? fromItem(item) : undefined;
}

function fromItem(item: Item): Breaker {
  const {
    kind: _,
    expires_at: __,
    express_from,
    express_slots,
    standard_from,
    standard_slots,
    ...rest
  } = unmarshall(item);
  return {
    ...rest,
    lines: {
      express: { from: express_from, slots: express_slots ?? 0 },
      standard: { from: standard_from, slots: standard_slots ?? 0 },
    },
  } as Breaker;
}
