import { join } from 'node:path';
import { type Child, startChild } from '../processes/start-child.ts';

export interface SqsStandIn {
  /** Base of the queue URLs, without a slash at the end. */
  readonly endpoint: string;
  readonly child: Child;
}

/** @param dataDir keeps queues and messages, those in flight too; undefined: in memory */
export async function startSqs(dataDir: string | undefined, logFile: string, port = 0): Promise<SqsStandIn> {
  const child = await startChild({
    name: 'the SQS stand-in (fauxqs)',
    entry: new URL('sqs-process.ts', import.meta.url),
    args: [String(port), ...(dataDir === undefined ? [] : [join(dataDir, 'sqs')])],
    logFile,
  });
  return { endpoint: `http://127.0.0.1:${String(child.ready['port'])}`, child };
}
