import { createServer, type IncomingMessage } from 'node:http';
import type { Random } from '../../../src/core/delivery/verdict.ts';

type JsonObject = Readonly<Record<string, unknown>>;
type Part = readonly unknown[];

/** How a call on many items fails in part: what AWS is asked for all the same, and what its answer says of the rest. */
interface Batch {
  readonly asked: JsonObject;
  readonly answered: (answer: JsonObject) => JsonObject;
}

const objectOf = (value: unknown): JsonObject => Object(value);
const listOf = (value: unknown): Part => (Array.isArray(value) ? value : []);

/** At least one item stays, as AWS fails a call of which none does. */
function split(items: Part, random: Random): readonly [kept: Part, left: Part] {
  const isLeft = items.map((_, index) => index > 0 && random() < 0.25);
  return [items.filter((_, index) => !isLeft[index]), items.filter((_, index) => isLeft[index])];
}

/** @param itemsOf the items of a table @param of what a call says of a table, with other items */
function byTable(
  input: JsonObject,
  random: Random,
  itemsOf: (table: unknown) => Part,
  of: (table: unknown, items: Part) => unknown,
) {
  const tables = Object.entries(objectOf(input['RequestItems']));
  const parts = tables.map(([name, table]) => ({ name, table, part: split(itemsOf(table), random) }));
  const only = (which: 0 | 1) =>
    Object.fromEntries(
      parts.flatMap(({ name, table, part }) => (part[which].length === 0 ? [] : [[name, of(table, part[which])]])),
    );
  return { kept: only(0), left: only(1) };
}

const BATCHES: Readonly<Record<string, (input: JsonObject, random: Random) => Batch>> = {
  BatchWriteItem(input, random) {
    const { kept, left } = byTable(input, random, listOf, (_, items) => items);
    return {
      asked: { ...input, RequestItems: kept },
      answered: (answer) => ({ ...answer, UnprocessedItems: { ...objectOf(answer['UnprocessedItems']), ...left } }),
    };
  },
  BatchGetItem(input, random) {
    const { kept, left } = byTable(
      input,
      random,
      (table) => listOf(objectOf(table)['Keys']),
      (table, Keys) => ({ ...objectOf(table), Keys }),
    );
    return {
      asked: { ...input, RequestItems: kept },
      answered: (answer) => ({ ...answer, UnprocessedKeys: { ...objectOf(answer['UnprocessedKeys']), ...left } }),
    };
  },
  BatchExecuteStatement(input, random) {
    const statements = listOf(input['Statements']);
    const [kept, left] = split(statements, random);
    const refused = { Error: { Code: 'ThrottlingError', Message: 'Throughput exceeds the current capacity' } };
    return {
      asked: { ...input, Statements: kept },
      answered: (answer) => {
        const responses = [...listOf(answer['Responses'])];
        return { ...answer, Responses: statements.map((one) => (left.includes(one) ? refused : responses.shift())) };
      },
    };
  },
  SendMessageBatch: entries,
  DeleteMessageBatch: entries,
  ChangeMessageVisibilityBatch: entries,
};

function entries(input: JsonObject, random: Random): Batch {
  const [kept, left] = split(listOf(input['Entries']), random);
  const failed = left.map((one) => ({ Id: objectOf(one)['Id'], Code: 'InternalError', SenderFault: false }));
  return {
    asked: { ...input, Entries: kept },
    answered: (answer) => ({ ...answer, Failed: [...listOf(answer['Failed']), ...failed] }),
  };
}

/** Whose first answer got lost, so that the client asked again: AWS has done it twice. */
const REPEATED =
  /^(?:PutItem|UpdateItem|DeleteItem|TransactWriteItems|Batch(?:WriteItem|ExecuteStatement)|SendMessage|SendMessageBatch)$/;

/** A proxy before a stand-in of DynamoDB or SQS that fails batches in part, and applies requests twice. */
export async function startPartialProxy(upstream: string, port: number, random: Random) {
  const counts = { partial: 0, repeated: 0 };
  const server = createServer(async (request, response) => {
    try {
      const body = await textOf(request);
      const name = String(request.headers['x-amz-target']).split('.').at(-1) ?? '';
      const { asked, answered } = BATCHES[name]?.(JSON.parse(body), random) ?? {};
      const sent = asked === undefined ? body : JSON.stringify(asked);
      const isPartial = asked !== undefined && sent.length < JSON.stringify(JSON.parse(body)).length;
      if (isPartial) counts.partial += 1;
      const ask = () => passOn(`${upstream}${request.url}`, request, sent);
      if (REPEATED.test(name) && random() < 0.1) {
        counts.repeated += 1;
        await ask();
      }
      const answer = await ask();
      const isChanged = isPartial && answer.status === 200 && answered !== undefined;
      const text = isChanged ? JSON.stringify(answered(JSON.parse(answer.text))) : answer.text;
      response.writeHead(answer.status, { 'content-type': answer.type }).end(text);
    } catch {
      response.destroy();
    }
  });
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening));
  return {
    counts,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return String(Buffer.concat(chunks));
}

const PASSED = ['content-type', 'x-amz-target', 'authorization', 'x-amz-date', 'x-amz-security-token'] as const;

async function passOn(url: string, { headers, method = 'POST' }: IncomingMessage, body: string) {
  const passed = PASSED.flatMap((name) =>
    headers[name] === undefined ? [] : [[name, String(headers[name])] as const],
  );
  const answer = await fetch(url, { method, headers: Object.fromEntries(passed), body });
  return { status: answer.status, type: answer.headers.get('content-type') ?? '', text: await answer.text() };
}
