import { setTimeout } from 'node:timers/promises';
import { createWebhookSigner } from '../../../src/adapters/webhook/sender.ts';
import { fnv1a } from '../../../src/core/model/work-index.ts';
import { sendJson, serve } from '../../../src/http/loopback-server.ts';
import { between, createRandom } from '../../simulation/engine/virtual-time.ts';

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

const SHORTEST_MS = 20;
const LONGEST_MS = 300;
/** One in this many webhooks is refused. */
const FAILS_ONE_IN = 5;

/**
 * A receiver for Slack, Teams and webhooks. The parts of its paths: `/slow` answers after 20 to 300 ms, as providers do;
 * `/flaky` refuses a fifth of the webhooks at their first try; `/status/503` answers that status. Every other path
 * accepts at once.
 * @param secret of the webhooks: one whose signature is another's is answered 400; undefined: nothing is checked
 */
export async function startReceiver(secret?: string) {
  const signer = createWebhookSigner();
  const latency = latencies();
  let [count, last] = [0, 0];
  let refused = new Set<string>();
  let accepted = new Map<string, number>();
  const fails = (id: string) => {
    if (refused.has(id) || fnv1a(id) % FAILS_ONE_IN !== 0) return false;
    refused.add(id);
    return true;
  };
  const server = await serve(
    async ({ url = '', headers }, response, body) => {
      count += 1;
      const id = String(headers['webhook-id']);
      const at = new Date(Number(headers['webhook-timestamp']) * 1000);
      if (secret !== undefined && signer.sign([secret], id, at, body.toString()) !== headers['webhook-signature']) {
        return sendJson(response, 400, { message: 'wrong signature' });
      }
      const asked = Number(/\/status\/(\d{3})/.exec(url)?.[1] ?? 200);
      const status = url.includes('/flaky') && fails(id) ? 503 : asked;
      if (url.includes('/slow')) await setTimeout(latency());
      if (status === 200) {
        accepted.set(id, (accepted.get(id) ?? 0) + 1);
        last = Date.now();
      }
      // Slack's answer to chat.postMessage. The other senders look at the status only.
      sendJson(response, status, { ok: true, ts: '1700000000.000100' });
    },
    0,
    'the receiver',
  );
  return {
    url: server.url,
    /** Requests so far. */
    count: () => count,
    /** The webhook-ids that `/flaky` has refused. It accepts them from then on. */
    refused: (): ReadonlySet<string> => refused,
    /** Forgets what was received and refused. */
    reset() {
      accepted = new Map();
      refused = new Set();
    },
    /** Webhooks accepted at least once. */
    delivered: () => accepted.size,
    /** Posts that were accepted although the webhook had been accepted before. */
    doubled: () => [...accepted.values()].reduce((sum, times) => sum + times - 1, 0),
    /** When the last one was accepted, in milliseconds since the epoch. */
    lastAt: () => last,
    close: () => server.close(),
  };
}

/** Draws milliseconds, evenly over the range, the same ones in every run. */
export function latencies(): () => number {
  const random = createRandom(1, 'latencies');
  return () => between(random, SHORTEST_MS, LONGEST_MS);
}
