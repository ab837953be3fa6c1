import { once } from 'node:events';
import { request } from 'node:http';
import { type AddressInfo, createServer, type LookupFunction, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createPoster, type Poster } from '../../../src/adapters/http/post.ts';
import { NEVER } from '../../support/delivery.ts';

const HEADERS = { 'content-type': 'application/json', 'webhook-id': 'log-1' };
const BODY = '{"名":1}';

/** A server of bytes: answers each request, of which it has the text, and knows its connections. */
async function listen(server: Server) {
  const sockets = new Set<Socket>();
  const listener = { requests: [] as string[], connections: 0, answer: '', port: 0, sockets };
  const serve = (socket: Socket) => {
    listener.connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (bytes) => {
      listener.requests.push(bytes.toString());
      socket.write(listener.answer);
    });
  };
  server.on('listening' in server && 'setTicketKeys' in server ? 'secureConnection' : 'connection', serve);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  listener.port = (server.address() as AddressInfo).port;
  return listener;
}

const answer = (...fields: string[]) => ['HTTP/1.1 200 OK', ...fields, 'Content-Length: 2', '', 'ok'].join('\r\n');

let poster: Poster;
beforeEach(() => {
  poster = createPoster();
});
afterEach(() => poster.close());

describe('a connection', () => {
  const server = createServer();
  let receiver: Awaited<ReturnType<typeof listen>>;
  beforeAll(async () => {
    receiver = await listen(server);
  });
  beforeEach(() => Object.assign(receiver, { requests: [], connections: 0, answer: answer() }));
  afterAll(() => server.close());

  const url = () => new URL(`http://127.0.0.1:${receiver.port}/in?a=%20b`);
  const post = (more: object = {}) =>
    poster.post({ url: url(), headers: { ...HEADERS, ...more }, body: BODY, signal: NEVER });

  it("carries the bytes that Node's own client writes", async () => {
    await post();
    const headers = { ...HEADERS, 'content-length': Buffer.byteLength(BODY) };
    const asked = request(url(), { method: 'POST', headers, agent: false });
    asked.setHeader('Connection', 'keep-alive');
    asked.end(BODY);
    const [response] = await once(asked, 'response');
    response.resume();
    asked.destroy();
    const [ours, nodes = ''] = receiver.requests;
    // With an agent, the connection comes last.
    expect(ours).toBe(
      nodes.replace('Connection: keep-alive\r\n', '').replace(/(Host: .*\r\n)/, '$1Connection: keep-alive\r\n'),
    );
  });

  it('is used again', async () => {
    for (let i = 0; i < 3; i++) await post();
    expect(receiver.connections).toBe(1);
  });

  it.each(['Connection: close', 'Keep-Alive: timeout=1'])('is not used again after %s', async (field) => {
    receiver.answer = answer(field);
    await post();
    await post();
    expect(receiver.connections).toBe(2);
  });

  it('is not used any more when the other side is about to close it', async () => {
    receiver.answer = answer('Keep-Alive: timeout=2');
    const clock = vi.spyOn(Date, 'now').mockReturnValue(0);
    await post();
    clock.mockReturnValue(999);
    await post();
    clock.mockReturnValue(1_999);
    await post();
    clock.mockRestore();
    expect(receiver.connections).toBe(2);
  });

  it('ends with what comes unasked', async () => {
    await post();
    const [socket] = receiver.sockets;
    socket?.write(answer());
    await vi.waitUntil(() => receiver.sockets.size === 0, { timeout: 2_000 });
    await post();
    expect(receiver.connections).toBe(2);
  });

  it('carries no field that would end where it should not', async () => {
    await expect(post({ authorization: 'a\r\nx: b' })).rejects.toThrow(TypeError);
    expect(receiver.connections).toBe(0);
  });
});

const KEY = [
  '-----BEGIN PRIVATE KEY-----',
  'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgYKRhrqEG+J4fE1Bl',
  'iDjtoVJSBM+caatMckTTO+9FHTehRANCAASyFitoYGn3erQUmDFACchr+qTjGH/T',
  '8BsRaJIdkaeB6CGXWFm6n8U4jkAmCi3EbK9JaOlj4qPUz9R94pepVp0G',
  '-----END PRIVATE KEY-----',
].join('\n');
const CERT = [
  '-----BEGIN CERTIFICATE-----',
  'MIIBoDCCAUegAwIBAgIUYs7T6VsHTBmDsobQHb7Y9Maa9AIwCgYIKoZIzj0EAwIw',
  'GDEWMBQGA1UEAwwNaG9va3MuZXhhbXBsZTAgFw0yNjExMjkwMTA5MzhaGA8yMTI2',
  'MTEwNTAxMDkzOFowGDEWMBQGA1UEAwwNaG9va3MuZXhhbXBsZTBZMBMGByqGSM49',
  'AgEGCCqGSM49AwEHA0IABLIWK2hgafd6tBSYMUAJyGv6pOMYf9PwGxFokh2Rp4Ho',
  'IZdYWbqfxTiOQCYKLcRsr0lo6WPio9TP1H3il6lWnQajbTBrMB0GA1UdDgQWBBTk',
  '3bzjhIuQC/ZhbwY3MTqlf4ycFjAfBgNVHSMEGDAWgBTk3bzjhIuQC/ZhbwY3MTql',
  'f4ycFjAPBgNVHRMBAf8EBTADAQH/MBgGA1UdEQQRMA+CDWhvb2tzLmV4YW1wbGUw',
  'CgYIKoZIzj0EAwIDRwAwRAIgGGvLTWYFuWRdipzt/VCvzTaRc5QYzrzECQPBqvyS',
  'M6ECIAZbE13zGJ5nSXlyKXP/iBzFAI6TSodZawp/MsMXy34s',
  '-----END CERTIFICATE-----',
].join('\n');

describe('a connection by TLS', () => {
  const trusted = getCACertificates('default');
  const names: (string | false)[] = [];
  const resumed: boolean[] = [];
  const server = createTlsServer({ key: KEY, cert: CERT, ALPNProtocols: ['http/1.1'] }, (socket) => {
    names.push(socket.servername ?? false);
    resumed.push(socket.isSessionReused());
  });
  let receiver: Awaited<ReturnType<typeof listen>>;
  beforeAll(async () => {
    receiver = await listen(server);
  });
  afterAll(() => {
    setDefaultCACertificates(trusted);
    server.close();
  });

  const lookup: LookupFunction = (_, { all }, callback) =>
    all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4);
  const post = (host: string) => {
    poster.close();
    return poster.post({
      url: new URL(`https://${host}:${receiver.port}/`),
      headers: HEADERS,
      body: BODY,
      signal: NEVER,
    });
  };

  it('is refused for a certificate that nobody trusts, or of another name', async () => {
    poster = createPoster({ lookup });
    await expect(post('hooks.example')).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    setDefaultCACertificates([CERT]);
    await expect(post('other.example')).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    expect(receiver.requests).toEqual([]);
  });

  it('names the host, and resumes the session of the one before', async () => {
    setDefaultCACertificates([CERT]);
    poster = createPoster({ lookup });
    receiver.answer = answer('Connection: close');
    resumed.length = 0;
    for (let i = 0; i < 2; i++) expect(await post('hooks.example')).toMatchObject({ status: 200, text: 'ok' });
    expect(names.at(-1)).toBe('hooks.example');
    expect(resumed).toEqual([false, true]);
  });
});
