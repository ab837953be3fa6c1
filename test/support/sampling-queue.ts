import { createHash } from 'node:crypto';

interface Stored {
  readonly id: string;
  readonly body: string;
  readonly server: number;
  visibleAt: number;
  isHidden: boolean;
  receives: number;
}

interface QueueOptions {
  /** Servers that hold the messages: a receive without a wait asks some of them. */
  readonly servers?: number;
  /** What each request takes. */
  readonly requestMs?: number;
  /** Most messages in flight. Beyond it a receive with a wait answers nothing, and says nothing of it. */
  readonly mostInFlight?: number;
}

/**
 * A queue that answers as SQS does, in virtual time: any ten of those that are visible, in no order, and each again when
 * its visibility timeout ends. For the `requestHandler` of an SQSClient.
 */
export function samplingQueue(bodies: readonly string[], options: QueueOptions = {}) {
  const { servers = 8, requestMs = 20, mostInFlight = 120_000 } = options;
  let now = 0;
  let draw = 1;
  const random = () => {
    draw = (Math.imul(draw, 1_103_515_245) + 12_345) >>> 0;
    return (draw >>> 8) / 2 ** 24;
  };
  const messages = new Map<string, Stored>();
  for (const [i, body] of bodies.entries()) {
    messages.set(`m${i}`, { id: `m${i}`, body, server: i % servers, visibleAt: 0, isHidden: false, receives: 0 });
  }
  const requests: Record<string, number> = {};
  const visible: Stored[] = [...messages.values()];
  // By the second of their end, because a scan of all for each receive would be most of a test's time.
  const hidden = new Map<number, Stored[]>();
  let inFlight = 0;
  let passed = 0;

  function hide(one: Stored, until: number): void {
    one.visibleAt = until;
    const second = Math.ceil(until / 1_000);
    const together = hidden.get(second);
    if (together === undefined) hidden.set(second, [one]);
    else together.push(one);
    if (second <= passed) show(second);
  }

  function show(second: number): void {
    for (const one of hidden.get(second) ?? []) {
      // It may have been hidden again since, or shown, or deleted.
      if (!one.isHidden || Math.ceil(one.visibleAt / 1_000) !== second) continue;
      one.isHidden = false;
      inFlight -= 1;
      if (messages.has(one.id)) visible.push(one);
    }
    hidden.delete(second);
  }

  function refresh(): void {
    for (; passed < Math.floor(now / 1_000); passed++) show(passed + 1);
  }

  function receive(most: number, timeout_s: number, wait_s: number): Stored[] {
    refresh();
    const some = wait_s > 0 ? servers : Math.max(1, Math.floor(servers / 3));
    const asked = new Set(Array.from({ length: some }, (_, i) => (i + Math.floor(random() * servers)) % servers));
    const room = Math.max(0, mostInFlight - inFlight);
    const found: Stored[] = [];
    for (let tries = 0; found.length < Math.min(most, room) && tries < 100 && visible.length > 0; tries++) {
      const at = Math.floor(random() * visible.length);
      const one = visible[at];
      const last = visible.at(-1);
      if (one === undefined || last === undefined) break;
      if (wait_s === 0 && !asked.has(one.server)) continue;
      visible[at] = last;
      visible.pop();
      if (!messages.has(one.id)) continue;
      one.receives += 1;
      one.isHidden = true;
      inFlight += 1;
      hide(one, now + timeout_s * 1_000);
      found.push(one);
    }
    if (found.length === 0) now += wait_s * 1_000;
    return found;
  }

  type Entry = { readonly Id: string; readonly ReceiptHandle: string; readonly VisibilityTimeout?: number };
  const batch = (entries: readonly Entry[], act: (one: Stored, entry: Entry) => void) => {
    const Successful: object[] = [];
    const Failed: object[] = [];
    for (const entry of entries) {
      const [id = '', receives] = entry.ReceiptHandle.split('/');
      const one = messages.get(id);
      if (one !== undefined && one.receives === Number(receives)) {
        act(one, entry);
        Successful.push({ Id: entry.Id });
      } else Failed.push({ Id: entry.Id, Code: 'ReceiptHandleIsInvalid', Message: 'gone', SenderFault: true });
    }
    return { Successful, Failed };
  };

  function answer(target: string, input: Record<string, unknown>): object {
    switch (target) {
      case 'ReceiveMessage': {
        const {
          MaxNumberOfMessages = 1,
          VisibilityTimeout = 30,
          WaitTimeSeconds = 0,
        } = input as Record<string, number>;
        const Messages = receive(MaxNumberOfMessages, VisibilityTimeout, WaitTimeSeconds).map((one) => ({
          MessageId: one.id,
          ReceiptHandle: `${one.id}/${one.receives}`,
          Body: one.body,
          MD5OfBody: createHash('md5').update(one.body).digest('hex'),
          Attributes: { SentTimestamp: '0', ApproximateReceiveCount: String(one.receives) },
        }));
        return Messages.length === 0 ? {} : { Messages };
      }
      case 'DeleteMessageBatch':
        return batch(input['Entries'] as Entry[], (one) => {
          messages.delete(one.id);
          if (one.isHidden) inFlight -= 1;
          one.isHidden = false;
        });
      case 'ChangeMessageVisibilityBatch':
        return batch(input['Entries'] as Entry[], (one, { VisibilityTimeout = 0 }) => {
          if (one.isHidden) hide(one, Math.min(now, passed * 1_000) + VisibilityTimeout * 1_000);
        });
      default:
        throw new Error(`The queue does not know ${target}.`);
    }
  }

  return {
    requests,
    left: () => [...messages.values()].map(({ body }) => body),
    inFlight: () => inFlight,
    handler: {
      async handle(request: { readonly headers: Record<string, string>; readonly body: string | Uint8Array }) {
        const target = request.headers['x-amz-target']?.split('.').at(-1) ?? '';
        requests[target] = (requests[target] ?? 0) + 1;
        now += requestMs;
        const body = answer(target, JSON.parse(Buffer.from(request.body).toString()) as Record<string, unknown>);
        const headers = { 'content-type': 'application/x-amz-json-1.0' };
        return { response: { statusCode: 200, headers, body: new Uint8Array(Buffer.from(JSON.stringify(body))) } };
      },
    },
  };
}
