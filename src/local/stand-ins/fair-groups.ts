/** A group of messages with more than this share of what is in flight, and at least this many, is noisy. */
const NOISY_SHARE = 0.1;
const NOISY_COUNT = 30;

/** SQS's fair queues: messages of other groups (MessageGroupId) go before a noisy group's. None is refused. */
export function isNoisy(groupInFlight: number, inFlight: number): boolean {
  return groupInFlight >= NOISY_COUNT && groupInFlight > NOISY_SHARE * inFlight;
}

interface Message {
  readonly body: string;
  messageGroupId?: string | undefined;
}

/** What this file touches of a queue of fauxqs. */
interface Queue {
  readonly messages: Message[];
  readonly inflightMessages: ReadonlyMap<string, { readonly message: Message }>;
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
      this.processTimers();
      quietFirst(this, most);
    }
    return dequeue.call(this, most, ...rest);
  };
}

/** Moves up to `most` messages, those that SQS would give out next, to the front. */
function quietFirst({ messages, inflightMessages }: Queue, most: number): void {
  let inFlight = inflightMessages.size;
  const ofGroup = new Map<string, number>();
  const count = ({ messageGroupId: group }: Message) => {
    if (group !== undefined) ofGroup.set(group, (ofGroup.get(group) ?? 0) + 1);
  };
  for (const { message } of inflightMessages.values()) count(message);
  const isQuiet = ({ messageGroupId: group }: Message) =>
    group === undefined || !isNoisy(ofGroup.get(group) ?? 0, inFlight);
  const next: Message[] = [];
  while (next.length < most && messages.length > 0) {
    const [message] = messages.splice(Math.max(0, messages.findIndex(isQuiet)), 1);
    if (message === undefined) break;
    next.push(message);
    count(message);
    inFlight += 1;
  }
  messages.unshift(...next);
}
