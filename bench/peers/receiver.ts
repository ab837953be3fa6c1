import { createWebhookSigner } from '../../src/adapters/webhook/sender.ts';
import { fnv1a } from '../../src/core/model/work-index.ts';
import { serve } from '../../src/http/loopback-server.ts';

/** One in this many webhooks is answered 503 at its first attempt. */
const FAILS_ONE_IN = 5;

/** The receiver that all candidates post to. It checks every signature. */
export interface PeersReceiver {
  readonly url: string;
  /** Forgets what was received. */
  reset(): void;
  /** Webhooks accepted at least once. */
  delivered(): number;
  /** Posts that were accepted although the webhook had been accepted before. */
  doubled(): number;
  failed(): number;
  /** Milliseconds since the epoch. */
  lastAt(): number;
  close(): Promise<void>;
}

export async function startPeersReceiver(secret: string): Promise<PeersReceiver> {
  const signer = createWebhookSigner();
  let accepted = new Map<string, number>();
  let refused = new Set<string>();
  let last = 0;
  const server = await serve(
    (request, response, body) => {
      const header = (name: string) => String(request.headers[name]);
      const id = header('webhook-id');
      const at = new Date(Number(header('webhook-timestamp')) * 1000);
      if (signer.sign([secret], id, at, body.toString()) !== header('webhook-signature')) {
        response.writeHead(400).end('wrong signature');
        return;
      }
      if (fnv1a(id) % FAILS_ONE_IN === 0 && !refused.has(id)) {
        refused.add(id);
        response.writeHead(503).end('try again');
        return;
      }
      accepted.set(id, (accepted.get(id) ?? 0) + 1);
      last = Date.now();
      response.writeHead(200).end('ok');
    },
    0,
    'the receiver of the peers',
  );
  return {
    url: server.url,
    reset() {
      accepted = new Map();
      refused = new Set();
    },
    delivered: () => accepted.size,
    doubled: () => [...accepted.values()].reduce((sum, times) => sum + times - 1, 0),
    failed: () => refused.size,
    lastAt: () => last,
    close: () => server.close(),
  };
}
