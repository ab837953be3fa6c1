import { setTimeout } from 'node:timers/promises';
import { fnv1a } from '../../src/core/model/work-index.ts';
import { sendJson, serve } from '../../src/http/loopback-server.ts';
import { generator } from './body.ts';

/**
 * A receiver for Slack, Teams and webhooks. The parts of its paths: `/slow` answers after 20 to 300 ms, as providers do;
 * `/flaky` refuses a fifth of the webhooks at their first try; `/status/503` answers that status. Every other path
 * accepts at once.
 */
export interface Receiver {
  readonly url: string;
  /** Requests so far. */
  count(): number;
  /** The webhook-ids that `/flaky` has refused since the last call; their next try is accepted. */
  takeRefused(): ReadonlySet<string>;
  close(): Promise<void>;
}

const SHORTEST_MS = 20;
const LONGEST_MS = 300;

export async function startReceiver(): Promise<Receiver> {
  let count = 0;
  const latency = latencies();
  let refused = new Set<string>();
  let forgiven: ReadonlySet<string> = refused;
  const fails = (id: string) => {
    if (forgiven.has(id) || fnv1a(id) % 5 !== 0) return false;
    refused.add(id);
    return true;
  };
  const server = await serve(
    async ({ url = '', headers }, response) => {
      count += 1;
      const id = String(headers['webhook-id']);
      const asked = Number(/\/status\/(\d{3})/.exec(url)?.[1] ?? 200);
      const status = url.includes('/flaky') && fails(id) ? 503 : asked;
      if (url.includes('/slow')) await setTimeout(latency());
      // Slack's answer to chat.postMessage. The other senders look at the status only.
      sendJson(response, status, { ok: true, ts: '1700000000.000100' });
    },
    0,
    'the receiver',
  );
  return {
    url: server.url,
    count: () => count,
    takeRefused() {
      forgiven = refused;
      refused = new Set();
      return forgiven;
    },
    close: () => server.close(),
  };
}

/** Draws milliseconds, evenly over the range, the same ones in every run. */
export function latencies(): () => number {
  const random = generator(1);
  return () => SHORTEST_MS + random() * (LONGEST_MS - SHORTEST_MS);
}
