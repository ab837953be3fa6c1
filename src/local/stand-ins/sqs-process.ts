import { Server } from 'node:net';
import type { DatabaseSync } from 'node:sqlite';
import { startFauxqs } from 'fauxqs';
import { serveParent } from '../processes/serve-parent.ts';
import { receiveFairly } from './fair-groups.ts';

/** Runs the SQS stand-in: `sqs-process.ts PORT [DATA_DIRECTORY]`. */
const [port = '0', dataDir] = process.argv.slice(2);

await serveParent(async () => {
  listenOnLoopbackOnly();
  await keepReceiveCountOnReturn();
  await receiveFairly();
  const server = await startFauxqs({
    port: Number(port),
    logger: false,
    ...(dataDir === undefined ? {} : { dataDir }),
  });
  return { port: server.port };
});

/** fauxqs has no option for that. Works only where it is the process's only server. */
function listenOnLoopbackOnly(): void {
  const listen = Server.prototype.listen;
  Object.defineProperty(Server.prototype, 'listen', {
    value(this: Server, options: object, ...rest: unknown[]) {
      return Reflect.apply(listen, this, [{ ...options, host: '127.0.0.1' }, ...rest]);
    },
  });
}

/**
 * Repairs fauxqs 2.4.1 with a data directory: its ChangeMessageVisibility to 0 sets the NOT NULL receive count to NULL,
 * fails, and hides the message until a restart. No dead letter would ever reach its queue.
 */
async function keepReceiveCountOnReturn(): Promise<void> {
  const { PersistenceManager } = await import(new URL('persistence.js', import.meta.resolve('fauxqs')).href);
  Object.defineProperty(PersistenceManager.prototype, 'updateMessageReady', {
    value(this: { readonly db: DatabaseSync }, messageId: string) {
      this.db
        .prepare('UPDATE sqs_messages SET receipt_handle = NULL, visibility_deadline = NULL WHERE message_id = ?')
        .run(messageId);
    },
  });
}
