import { Server } from 'node:net';
import { startFauxqs } from 'fauxqs';
import { serveParent } from '../processes/child.ts';

/** The SQS stand-in as a process: `sqs-process.ts PORT [DATA_DIRECTORY]`. */
const [port = '0', dataDir] = process.argv.slice(2);

// fauxqs listens on every interface and has no option for it. It is the only server of this process.
const listen = Server.prototype.listen;
Object.defineProperty(Server.prototype, 'listen', {
  value(this: Server, options: object, ...rest: unknown[]) {
    return Reflect.apply(listen, this, [{ ...options, host: '127.0.0.1' }, ...rest]);
  },
});

await serveParent(async () => {
  const server = await startFauxqs({
    port: Number(port),
    logger: false,
    ...(dataDir === undefined ? {} : { dataDir }),
  });
  return { port: server.port };
});
