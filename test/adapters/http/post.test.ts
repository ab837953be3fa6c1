import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPoster, MAX_ANSWER_BYTES, type Poster, type PosterOptions } from '../../../src/adapters/http/post.ts';
import { NEVER } from '../../support/delivery.ts';
import { startRawReceiver } from '../../support/http/raw-receiver.ts';
import { type Loopback, replying, startLoopback } from '../../support/loopback.ts';

let server: Loopback;
let poster: Poster;
beforeEach(async () => {
  server = await startLoopback();
});
afterEach(async () => {
  poster.close();
  await server.close();
});

function post(options: PosterOptions = {}, signal: AbortSignal = NEVER, path = '/in?a=1') {
  poster = createPoster(options);
  const url = new URL(path, server.url);
  return poster.post({ url, headers: { 'content-type': 'application/json' }, body: '{"名":1}', signal });
}

describe('posting', () => {
  it('sends the body with its length in bytes and returns status, headers and text', async () => {
    server.answer = replying(202, 'tåken', { 'retry-after': '3' });
    expect(await post()).toMatchObject({ status: 202, text: 'tåken', headers: { 'retry-after': '3' } });
    expect(server.received).toMatchObject([
      { method: 'POST', path: '/in?a=1', body: '{"名":1}', headers: { 'content-length': '9' } },
    ]);
  });

  it('does not follow a redirect', async () => {
    server.answer = replying(307, '', { location: `${server.url}/elsewhere` });
    expect((await post()).status).toBe(307);
    expect(server.received).toHaveLength(1);
  });

  it('uses one connection for consecutive posts', async () => {
    const ports = new Set<number | undefined>();
    server.answer = (response) => {
      ports.add(response.socket?.remotePort);
      response.end();
    };
    poster = createPoster();
    const url = new URL(server.url);
    for (let i = 0; i < 3; i += 1) await poster.post({ url, headers: {}, body: '', signal: NEVER });
    expect(ports.size).toBe(1);
  });

  it('reads no more than the limit of an endless answer, and hangs up', async () => {
    const hungUp = Promise.withResolvers<void>();
    server.answer = (response) => {
      response.on('close', hungUp.resolve);
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(16_384)));
      };
      response.on('drain', more);
      more();
    };
    const { text } = await post();
    expect(text).toHaveLength(MAX_ANSWER_BYTES);
    await hungUp.promise;
  });

  it('counts an answer whose body does not end in time by its status', async () => {
    server.answer = (response) => {
      response.writeHead(200).write('half');
    };
    expect(await post({ timeoutMs: 150 })).toMatchObject({ status: 200 });
  });

  it.each(['hold', 'close', 'reset'] as const)(
    'takes an answer that comes before its request is written, then: %s',
    async (ends) => {
      const receiver = await startRawReceiver();
      receiver.answer = { sends: ['HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno'], ends, early: true };
      poster = createPoster();
      const body = 'x'.repeat(16 * 1024 * 1024);
      const answer = await poster.post({ url: new URL(receiver.url), headers: {}, body, signal: NEVER });
      expect(answer).toMatchObject({ status: 413 });
      await receiver.close();
    },
  );

  it('never reads what comes between two posts as the answer to the second', async () => {
    const receiver = await startRawReceiver();
    poster = createPoster();
    const url = new URL(receiver.url);
    const next = async (...sends: string[]) => {
      receiver.answer = { sends, ends: 'hold' };
      return (await poster.post({ url, headers: {}, body: '', signal: NEVER })).status;
    };
    const stale = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
    expect(await next(stale, stale)).toBe(200);
    await new Promise(setImmediate);
    expect(await next('HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n')).toBe(500);
    await receiver.close();
  });

  it('fails with TIMEOUT when no answer comes within the time for the whole exchange', async () => {
    server.answer = () => {};
    await expect(post({ timeoutMs: 50 })).rejects.toMatchObject({ name: 'NetworkFault', code: 'TIMEOUT' });
  });

  it('fails with TIMEOUT when it is aborted during the exchange or before it', async () => {
    const controller = new AbortController();
    server.answer = () => controller.abort();
    await expect(post({}, controller.signal)).rejects.toMatchObject({ code: 'TIMEOUT' });
    await expect(post({}, controller.signal)).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect(server.received).toHaveLength(1);
  });

  it('names the fault and not the address when the connection is refused', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as { port: number };
    closed.close();
    await expect(post({}, NEVER, `http://127.0.0.1:${port}/`)).rejects.toMatchObject({
      code: 'ECONNREFUSED',
      message: 'the endpoint could not be reached (ECONNREFUSED)',
    });
  });

  it('fails with the fault when the connection is cut before an answer', async () => {
    server.answer = (response) => response.destroy();
    await expect(post()).rejects.toMatchObject({ code: 'ECONNRESET' });
  });
});
