import { createWebhookSigner } from '../../../src/adapters/webhook/sender.ts';
import { serveParent } from '../../../src/local/processes/serve-parent.ts';
import { bullmq } from './bullmq.ts';
import { graphileWorker } from './graphile-worker.ts';
import { pgBoss } from './pg-boss.ts';
import type { PeerSettings, Send } from './worker-port.ts';

/**
 * The process of a peer's producer or worker: `peer-process.ts SETTINGS`. Plain `node` runs this file. It answers each
 * message `{ id, do, ids }` with `{ id, value }` or `{ id, error }`.
 */
const PEERS = { bullmq, 'pg-boss': pgBoss, 'graphile-worker': graphileWorker };

interface Order {
  readonly id: number;
  readonly do: 'enqueue' | 'work' | 'records' | 'clear' | 'cpu';
  readonly ids?: readonly string[];
}

const settings = JSON.parse(process.argv[2] ?? '{}') as PeerSettings;

await serveParent(async () => {
  const queue = PEERS[settings.peer as keyof typeof PEERS](settings);
  const send = sender(settings);
  let before = process.cpuUsage();
  const obey = async (order: Order): Promise<unknown> => {
    switch (order.do) {
      case 'enqueue':
        return queue.enqueue(order.ids ?? []);
      case 'work':
        before = process.cpuUsage();
        return queue.work(send);
      case 'records':
        return queue.records();
      case 'clear':
        return queue.clear();
      case 'cpu': {
        const { user, system } = process.cpuUsage(before);
        return user + system;
      }
    }
  };
  process.on('message', (message) => {
    const order = message as Order;
    obey(order).then(
      (value) => process.send?.({ id: order.id, value }),
      (error: unknown) => process.send?.({ id: order.id, error: String(error) }),
    );
  });
  return {};
});

/** The same signature as our sender's, and Node's own fetch. */
function sender({ url, secret, body }: PeerSettings): Send {
  const signer = createWebhookSigner();
  return async (id) => {
    const at = new Date();
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': signer.sign([secret], id, at, body),
    };
    const answer = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(20_000) });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`the receiver answered ${answer.status}`);
  };
}
