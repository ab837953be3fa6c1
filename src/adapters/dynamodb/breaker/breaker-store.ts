import { type DynamoDBClient, QueryCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { Breaker } from '../../../core/breaker/breaker.ts';
import type { BreakerStore } from '../../../core/breaker/shared-breakers.ts';
import type { Lane } from '../../../core/model/channels.ts';
import type { Clock } from '../../../core/model/time.ts';
import { gather, SETTLE_WAIT_MS } from '../../batching/gather.ts';
import { BREAKER_KIND } from '../schema.ts';
import { ifConditionHolds } from '../table/conditional-write.ts';
import type { Item } from '../table/item.ts';
import { updateExpression } from '../table/update-expression.ts';

/** A breaker without a change for so long expires, as have all notifications that it could hold. */
const KEPT_SECONDS = 2 * 86_400;

interface TakenSlot {
  readonly slot: number;
  readonly breaker: Breaker;
}

/** BreakerStore on PipelineState: one item per breaker. */
export function createBreakerStore(client: DynamoDBClient, table: string, clock: Clock): BreakerStore {
  const takeSlots = slotTaker(client, table);

  return {
    async list() {
      const { Items = [] } = await client.send(
        new QueryCommand({
          TableName: table,
          KeyConditionExpression: 'kind = :kind',
          FilterExpression: 'expires_at > :now',
          ExpressionAttributeValues: {
            ':kind': { S: BREAKER_KIND },
            ':now': { N: String(Math.floor(clock().getTime() / 1000)) },
          },
          // A worker that lost a transition must see the state that the winner wrote.
          ConsistentRead: true,
        }),
      );
      return Items.map(fromItem);
    },

    async write(breaker) {
      const { id, lines, drained_at, ...rest } = breaker;
      const update = updateExpression({
        set: {
          ...rest,
          drained_at,
          express_from: lines.express.from,
          standard_from: lines.standard.from,
          expires_at: Math.floor(clock().getTime() / 1000) + KEPT_SECONDS,
        },
        remove: drained_at === undefined ? ['drained_at'] : [],
      });
      return ifConditionHolds(
        client
          .send(
            new UpdateItemCommand({
              TableName: table,
              Key: keyOf(id),
              UpdateExpression: update.expression,
              ConditionExpression: 'attribute_not_exists(id) OR #version = :before',
              ExpressionAttributeNames: { ...update.names, '#version': 'version' },
              ExpressionAttributeValues: { ...update.values, ':before': { N: String(breaker.version - 1) } },
            }),
          )
          .then(() => true),
        false,
      );
    },

    takeSlot: (id, lane) => takeSlots({ id, lane }),
  };
}

const keyOf = (id: string) => ({ kind: { S: BREAKER_KIND }, id: { S: id } });

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
