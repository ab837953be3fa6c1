/**
 * A group of messages is noisy with more than this share of what is in flight, and at least this many, or with more than
 * this share of what consumers took lately for all messages.
 */
const NOISY_SHARE = 0.1;
const NOISY_COUNT = 30;
/** AWS does not say how long "recent" is; a group that sends nothing for as long is quiet again. */
const RECENT_MS = 300_000;

/** SQS's fair queues: messages of other groups (MessageGroupId) go before a noisy group's. None is refused. */
export function isNoisy(groupInFlight: number, inFlight: number, shareOfTime = 0): boolean {
  return (groupInFlight >= NOISY_COUNT && groupInFlight > NOISY_SHARE * inFlight) || shareOfTime > NOISY_SHARE;
}

interface Message {
  readonly body: string;
  messageGroupId?: string | undefined;
}

interface Taken {
  readonly message: Message;
}

/** The messages in flight by receipt handle, and what those took lately that are not any more: deleted or given back. */
class InFlight extends Map<string, Taken> {
  readonly #since = new Map<string, number>();
  readonly #ended: { readonly group: string; readonly at: number; readonly ms: number }[] = [];
  readonly #sums = new Map<string, number>();
  #total = 0;

  static from(taken: ReadonlyMap<string, Taken>): InFlight {
    const made = new InFlight();
    for (const [handle, one] of taken) made.set(handle, one);
    return made;
  }

  override set(handle: string, taken: Taken): this {
    this.#since.set(handle, Date.now());
    return super.set(handle, taken);
  }

  override delete(handle: string): boolean {
    const since = this.#since.get(handle);
    this.#since.delete(handle);
    const at = Date.now();
    // Who has no group is a group of its own.
    const group = this.get(handle)?.message.messageGroupId ?? handle;
    if (since !== undefined) {
      const ms = Math.max(1, at - since);
      this.#ended.push({ group, at, ms });
      this.#add(group, ms);
    }
    return super.delete(handle);
  }

  #add(group: string, ms: number): void {
    const sum = (this.#sums.get(group) ?? 0) + ms;
    if (sum === 0) this.#sums.delete(group);
    else this.#sums.set(group, sum);
    this.#total += ms;
  }

  forgetOld(): void {
    const from = Date.now() - RECENT_MS;
    const recent = this.#ended.findIndex(({ at }) => at > from);
    const old = this.#ended.splice(0, recent < 0 ? this.#ended.length : recent);
    for (const { group, ms } of old) this.#add(group, -ms);
  }

  shareOfTime(group: string): number {
    return (this.#sums.get(group) ?? 0) / Math.max(1, this.#total);
  }
}

/** What this file touches of a queue of fauxqs. */
interface Queue {
  readonly messages: Message[];
  inflightMessages: Map<string, Taken>;
  isFifo(): boolean;
  processTimers(): void;
}

interface Entry {
  readonly MessageBody?: string;
  readonly MessageGroupId?: string;
}
type Action = (body: Entry & { readonly Entries?: readonly Entry[] }, ...rest: unknown[]) => unknown;

/**
 * Gives fauxqs 2.4.1 fair queues. It forgets the group of a message on a standard queue, and gives messages out in their
 * order: an urgent message waited there behind a neighbour's flood, as it does not on AWS.
 */
export async function receiveFairly(): Promise<void> {
  const home = import.meta.resolve('fauxqs');
  const { SqsQueue, SqsStore } = await import(new URL('sqs/sqsStore.js', home).href);
  const { SqsRouter } = await import(new URL('sqs/sqsRouter.js', home).href);

  let sent: Entry[] = [];
  const { register } = SqsRouter.prototype;
  SqsRouter.prototype.register = function (this: unknown, name: string, action: Action) {
    const isSend = name === 'SendMessage' || name === 'SendMessageBatch';
    const remembers: Action = (body, ...rest) => {
      sent = [...(body.Entries ?? [body])];
      return action(body, ...rest);
    };
    return register.call(this, name, isSend ? remembers : action);
  };
  const { createMessage } = SqsStore;
  SqsStore.createMessage = (body: string, attributes: unknown, delay: unknown, group?: string, ...rest: unknown[]) => {
    // The actions take the entries of a request in order and leave out those that they refuse.
    const at = sent.findIndex(({ MessageBody }) => MessageBody === body);
    const [entry] = at < 0 ? [] : sent.splice(0, at + 1).slice(-1);
    return createMessage(body, attributes, delay, group ?? entry?.MessageGroupId, ...rest);
  };

  const { dequeue } = SqsQueue.prototype;
  SqsQueue.prototype.dequeue = function (this: Queue, most: number, ...rest: unknown[]) {
    if (!this.isFifo()) {
      const { inflightMessages: there } = this;
      const inFlight = there instanceof InFlight ? there : InFlight.from(there);
      this.inflightMessages = inFlight;
      this.processTimers();
      inFlight.forgetOld();
      quietFirst(this.messages, inFlight, most);
    }
    return dequeue.call(this, most, ...rest);
  };
}

/** Moves up to `most` messages to the front, as SQS gives them out: of quiet groups, then of the least noisy one. */
function quietFirst(messages: Message[], taken: InFlight, most: number): void {
  let inFlight = taken.size;
  const ofGroup = new Map<string, number>();
  const countOf = ({ messageGroupId: group = '' }: Message) => ofGroup.get(group) ?? 0;
  const count = (message: Message) => ofGroup.set(message.messageGroupId ?? '', countOf(message) + 1);
  for (const { message } of taken.values()) count(message);
  const isQuiet = (message: Message) => {
    const { messageGroupId: group } = message;
    return group === undefined || !isNoisy(countOf(message), inFlight, taken.shareOfTime(group));
  };
  const next: Message[] = [];
  while (next.length < most && messages.length > 0) {
    const quiet = messages.findIndex(isQuiet);
    const fewest = () =>
      messages.reduce((best, one, i) => (countOf(one) < countOf(messages[best] ?? one) ? i : best), 0);
    const [message] = messages.splice(quiet < 0 ? fewest() : quiet, 1);
    if (message === undefined) break;
    next.push(message);
    count(message);
    inFlight += 1;
  }
  messages.unshift(...next);
}
