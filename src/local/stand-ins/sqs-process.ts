import { startFauxqs } from 'fauxqs';
import { serveParent } from '../processes/serve-parent.ts';
import { keepReceiveCountOnReturn, listenOnLoopbackOnly } from './fauxqs-repairs.ts';

/** Runs the SQS stand-in: `sqs-process.ts PORT [DATA_DIRECTORY]`. */
const [port = '0', dataDir] = process.argv.slice(2);

await serveParent(async () => {
  listenOnLoopbackOnly();
  await keepReceiveCountOnReturn();
  const server = await startFauxqs({
    port: Number(port),
    logger: false,
    ...(dataDir === undefined ? {} : { dataDir }),
  });
  return { port: server.port };
});
