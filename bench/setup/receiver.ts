import { sendJson, serve } from '../../src/local/support/http-server.ts';

/** A receiver for Slack, Teams and webhooks: `/status/503…` answers that status, every other path accepts. */
export interface Receiver {
  readonly url: string;
  /** Requests so far. */
  count(): number;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  let count = 0;
  const server = await serve(
    (request, response) => {
      count += 1;
      const status = Number(/^\/status\/(\d{3})/.exec(request.url ?? '')?.[1] ?? 200);
      // Slack's answer to chat.postMessage. The other senders look at the status only.
      sendJson(response, status, { ok: true, ts: '1700000000.000100' });
    },
    0,
    'the receiver',
  );
  return { url: server.url, count: () => count, close: () => server.close() };
}
