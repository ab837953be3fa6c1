import {
  type DynamoDBClient,
  QueryCommand,
  type QueryCommandOutput,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { Breaker } from '../../../core/breaker/breaker.ts';
import type { BreakerStore } from '../../../core/breaker/shared-breakers.ts';
import type { Lane } from '../../../core/model/channels.ts';
import type { Clock } from '../../../core/model/time.ts';
import type { DownProviders } from '../../../core/monitor/dead-providers.ts';
import { gather, SETTLE_WAIT_MS } from '../../batching/gather.ts';
import { BREAKER_KIND } from '../schema.ts';
import { getItems, ifConditionHolds, MAX_GETS } from '../table/calls.ts';
import { updateItem } from '../table/guarded-update.ts';
import { nextVersion } from '../table/guards.ts';
import { type Item, toValue } from '../table/item.ts';

/** A breaker expires after this time without a change, as have all notifications that it could hold. */
const KEPT_SECONDS = 2 * 86_400;

interface TakenSlot {
  readonly slot: number;
  readonly breaker: Breaker;
}

/** BreakerStore on PipelineState: one item per breaker. */
export function createBreakerStore(client: DynamoDBClient, table: string, clock: Clock): BreakerStore & DownProviders {
  const takeSlots = slotTaker(client, table);
  const readNewest = reader(client, table, true);
  const readRecent = reader(client, table, false);

  return {
    async list() {
      const items: Item[] = [];
      const now = { N: String(Math.floor(clock().getTime() / 1000)) };
      let page: QueryCommandOutput | undefined;
      do {
        page = await client.send(
          new QueryCommand({
            ...ofBreakers(table, { ':now': now }),
            FilterExpression: 'expires_at > :now',
            ...(page?.LastEvaluatedKey && { ExclusiveStartKey: page.LastEvaluatedKey }),
          }),
        );
        items.push(...(page.Items ?? []));
      } while (page.LastEvaluatedKey !== undefined);
      return items.map(fromItem);
    },

    async first(limit) {
      const query = new QueryCommand({ ...ofBreakers(table), Limit: limit });
      const { Items = [], LastEvaluatedKey } = await client.send(query);
      return { breakers: Items.map(fromItem), all: LastEvaluatedKey === undefined };
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
      const update = new UpdateItemCommand({
        TableName: table,
        Key: keyOf(id),
        UpdateExpression: 'SET noted = :noted',
        ConditionExpression: 'attribute_exists(id)',
        ExpressionAttributeValues: { ':noted': toValue(noted) },
      });
      await ifConditionHolds(client.send(update), undefined);
    },

    takeSlot: (id, lane) => takeSlots({ id, lane }),
  };
}

const keyOf = (id: string) => ({ kind: { S: BREAKER_KIND }, id: { S: id } });

function ofBreakers(table: string, values: Item = {}) {
  return {
    TableName: table,
    KeyConditionExpression: 'kind = :kind',
    ExpressionAttributeValues: { ':kind': { S: BREAKER_KIND }, ...values },
  };
}

/** One call reads all breakers that are asked for at the same moment. */
function reader(client: DynamoDBClient, table: string, consistent: boolean) {
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

/** A waiting line of a breaker. */
interface Line {
  readonly id: string;
  readonly lane: Lane;
}

/** One write takes all slots that a batch needs at the same moment. */
function slotTaker(client: DynamoDBClient, table: string): (line: Line) => Promise<TakenSlot | undefined> {
  return gather<Line, TakenSlot | undefined>(
    async (wanted) => {
      const lines = [...Map.groupBy(wanted, ({ id, lane }) => `${lane} ${id}`).values()];
      const taken = new Map<object, TakenSlot>();
      for (const line of lines) {
        const [first] = line;
        const breaker = first && (await addSlots(client, table, first, line.length));
        if (first === undefined || breaker === undefined) continue;
        const from = breaker.lines[first.lane].slots - line.length;
        line.forEach((one, i) => {
          taken.set(one, { slot: from + i, breaker });
        });
      }
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
  const output = await ifConditionHolds(
    client.send(
      new UpdateItemCommand({
        TableName: table,
        Key: keyOf(id),
        UpdateExpression: 'ADD #slots :count',
        ConditionExpression: 'attribute_exists(id)',
        ExpressionAttributeNames: { '#slots': `${lane}_slots` },
        ExpressionAttributeValues: { ':count': { N: String(count) } },
        ReturnValues: 'ALL_NEW',
      }),
    ),
    undefined,
  );
  return output?.Attributes && fromItem(output.Attributes);
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
