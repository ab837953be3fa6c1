import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { build } from 'esbuild';
import { createNotificationClient, type TokenRequest } from '../../src/client/index.ts';

const port = Number(process.env['PORT'] ?? 4200);
const url = process.env['NOTIFICATION_API_URL'] ?? '';
const client = createNotificationClient();
/** In your own project: `import … from 'notification-retry-client/browser'`, and the bundler that you have. */
const { outputFiles } = await build({
  entryPoints: [join(import.meta.dirname, 'page.ts')],
  bundle: true,
  format: 'esm',
  write: false,
});
const page = readFileSync(join(import.meta.dirname, 'page.html'), 'utf8').replace('{{API_URL}}', url);

createServer(async (request, response) => {
  const send = (status: number, type: string, body: string) =>
    response.writeHead(status, { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store' }).end(body);
  if (request.url === '/page.js') return send(200, 'text/javascript', outputFiles[0]?.text ?? '');
  if (request.url === '/') return send(200, 'text/html', page);
  // A real server looks at its own session here: who signed in, and whether these notifications are theirs.
  const isOwnPage = request.headers['sec-fetch-site'] === 'same-origin';
  if (request.method !== 'POST' || request.url !== '/token' || !isOwnPage)
    return send(404, 'text/plain', 'Not found\n');
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  const asked: TokenRequest = JSON.parse(body);
  const token = await client.createToken(asked).catch(() => undefined);
  return send(token ? 200 : 503, 'application/json', JSON.stringify(token ?? {}));
}).listen(port, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${port}\n`));
