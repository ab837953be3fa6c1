import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

/** One entry per type of job. It throws when the job fails, which is then retried. */
const JOBS: Readonly<Record<string, (payload: { readonly url: string }) => Promise<void>>> = {
  async llm_processing({ url }) {
    if (url.includes('unreachable')) throw new Error(`${url} does not answer`);
    process.stdout.write(`done: ${url}\n`);
  },
};
const webhook = new Webhook(process.env['WORKER_SECRET'] ?? '');
/** The webhook-id is the same in every attempt. A real worker stores it with its result, in one transaction. */
const done = new Set<string>();

async function handle(body: string, headers: Record<string, string>): Promise<number> {
  const { type, payload } = webhook.verify(body, headers) as { type: string; payload: { url: string } };
  const job = JOBS[type];
  if (job === undefined) return 422;
  const { 'webhook-id': id = '' } = headers;
  if (!done.has(id)) await job(payload);
  done.add(id);
  return 204;
}

createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  const failed = (error: Error) => (error.name === 'WebhookVerificationError' ? 401 : 503);
  response.writeHead(await handle(body, request.headers as Record<string, string>).catch(failed)).end();
}).listen(Number(process.env['PORT'] ?? 4100), '127.0.0.1', () => process.stdout.write('ready\n'));
