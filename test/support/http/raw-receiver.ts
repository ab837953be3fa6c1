import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { AnswerCase } from '../../corpus/answers/cases.ts';

export type RawAnswer = Pick<AnswerCase, 'sends' | 'ends' | 'early'>;

export interface RawReceiver {
  readonly url: string;
  /** Requests that were read, or of an early answer: begun. */
  posts: number;
  answer: RawAnswer;
  close(): Promise<void>;
}

/** A receiver that answers every request with bytes, by a socket of its own. */
export async function startRawReceiver(): Promise<RawReceiver> {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // A poster that hangs up at once resets the connection.
    socket.on('error', () => {});
    let request = '';
    socket.on('data', (chunk) => {
      const { answer } = receiver;
      const wasEmpty = request === '';
      request += chunk.toString('latin1');
      if (answer.early) {
        if (!wasEmpty) return;
        socket.pause();
      } else if (!isWhole(request)) return;
      request = answer.early ? request : '';
      receiver.posts += 1;
      send(socket, answer);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const receiver: RawReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    posts: 0,
    answer: { sends: [], ends: 'close' },
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return receiver;
}

function isWhole(request: string): boolean {
  const end = request.indexOf('\r\n\r\n');
  const length = Number(/content-length: (\d+)/i.exec(request)?.[1] ?? 0);
  return end >= 0 && request.length >= end + 4 + length;
}

/** Each text in a packet of its own, as far as the system leaves them apart. */
function send(socket: Socket, { sends: [first, ...rest], ends }: RawAnswer): void {
  if (first !== undefined) {
    socket.write(first, 'latin1', () => setImmediate(() => send(socket, { sends: rest, ends })));
  } else if (ends === 'close') socket.end();
  else if (ends === 'reset') socket.resetAndDestroy();
}
