import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import type { Publish } from '../emulator/events/event-bus.ts';
import { nameOfBus } from '../emulator/template/event-rules.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from '../emulator/template/references.ts';
import { isObject, type JsonObject, parsed } from '../support/json.ts';
import { jsonLines } from '../support/running.ts';

const putEvents = v.object({
  Entries: v.pipe(
    v.array(
      v.object({
        EventBusName: v.optional(v.string(), 'default'),
        Source: v.pipe(v.string(), v.minLength(1)),
        DetailType: v.pipe(v.string(), v.minLength(1)),
        Detail: v.string(),
      }),
    ),
    v.minLength(1),
    v.maxLength(10, 'Entries must have at most 10'),
  ),
});

/** Largest sum of a request's entries in bytes. */
const MOST_BYTES = 262_144;
/** Most events that are kept for the list. */
const KEPT = 50_000;

interface AwsAnswer {
  readonly status: number;
  /** Of an error. */
  readonly type?: string;
  readonly value: object;
}

/** EventBridge's PutEvents on the buses of the template: it keeps what is put, and gives it to the rules of the bus. */
export class EventBridgeStandIn {
  readonly #publish: Publish;
  readonly #append: (event: JsonObject) => void;
  #events: JsonObject[];

  /** @param file keeps the events, so that they survive the runtime */
  constructor(publish: Publish, file?: string) {
    this.#publish = publish;
    const { before, append } = jsonLines<JsonObject>(file);
    this.#events = before;
    this.#append = append;
  }

  /** The events of all buses, in the order in which they were put. */
  list(): readonly JsonObject[] {
    return this.#events;
  }

  /** Answers an AWS call. @param target of its header */
  answer(target: unknown, body: string): AwsAnswer {
    if (target !== 'AWSEvents.PutEvents') {
      return refusal(501, 'NotImplementedException', `The local runtime has no stand-in for ${target}`);
    }
    const request = v.safeParse(v.pipe(v.string(), v.parseJson(), putEvents), body);
    if (!request.success) return refusal(400, 'ValidationException', v.summarize(request.issues));
    const { Entries } = request.output;
    const texts = Entries.map(({ Source, DetailType, Detail }) => Source + DetailType + Detail);
    if (Buffer.byteLength(texts.join('')) > MOST_BYTES) {
      return refusal(400, 'ValidationException', 'Total size of the entries is too large');
    }
    const results = Entries.map(({ EventBusName, Source, DetailType, Detail }) => {
      const detail = parsed(Detail);
      if (!isObject(detail)) return { ErrorCode: 'MalformedDetail', ErrorMessage: 'Detail is malformed.' };
      const id = randomUUID();
      this.#take({ version: '0', id, 'detail-type': DetailType, source: Source, ...envelope(), detail }, EventBusName);
      return { EventId: id };
    });
    const FailedEntryCount = results.filter((result) => 'ErrorCode' in result).length;
    return { status: 200, value: { FailedEntryCount, Entries: results } };
  }

  #take(event: JsonObject, bus: string): void {
    this.#events.push(event);
    if (this.#events.length > KEPT) this.#events = this.#events.slice(-KEPT / 2);
    this.#append(event);
    const name = nameOfBus(bus);
    void this.#publish(event, name === 'default' ? undefined : name);
  }
}

const envelope = () => ({
  account: LOCAL_ACCOUNT,
  time: new Date().toISOString(),
  region: LOCAL_REGION,
  resources: [],
});

function refusal(status: number, type: string, message: string): AwsAnswer {
  return { status, type, value: { __type: type, message } };
}

export const BUS_IS_DOWN = refusal(503, 'ServiceUnavailableException', 'the bus is down, as asked');
