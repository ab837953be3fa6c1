import { join } from 'node:path';
import { queueUrl } from '../../stand-ins/tables-and-queues.ts';
import type { Log } from '../../support/running.ts';
import type { AwsClients } from '../aws-clients.ts';
import type { InvocationResult } from '../lambda/invocation.ts';
import { isAwaited, type LocalPlan } from '../template/plan.ts';
import { startSqsEventSource } from './sqs-event-source.ts';
import { StreamEventSource } from './stream-event-source.ts';
import { fileCheckpoints } from './stream-shard.ts';

/** Between two looks at a stream that others wait for: a run begins when its rows are taken in. */
const POLL_AWAITED_MS = 75;
/** Concurrent batches per queue, unless its mapping allows fewer. Two lanes thus use a function's four processes. */
const BATCHES_AT_ONCE = 2;
/** Milliseconds that a stop waits for batches. An interrupted attempt is repeated after its claim expires. */
const DRAIN_MS = 10_000;

export interface SourcesOptions {
  readonly sqsEndpoint: string;
  /** Directory that keeps the positions in the streams. */
  readonly dataDir?: string;
  readonly invoke: (functionName: string, event: string) => Promise<InvocationResult>;
  readonly giveUp: (queueName: string, message: string) => Promise<void>;
  readonly log: Log;
}

export interface Sources {
  readonly caughtUp: (timeoutMs: number) => Promise<boolean>;
  readonly stop: () => Promise<void>;
}

export function startSources(
  plan: LocalPlan,
  { dynamodb, streams, sqs }: AwsClients,
  options: SourcesOptions,
): Sources {
  const { log } = options;
  const queues = plan.queueMappings.map((mapping) =>
    startSqsEventSource({
      client: sqs,
      queueUrl: queueUrl(options.sqsEndpoint, mapping.queueName),
      mapping,
      invoke: (event) => options.invoke(mapping.functionName, event),
      log,
      concurrency: BATCHES_AT_ONCE,
    }),
  );
  const tables = plan.streamMappings.map((mapping) => ({
    isAwaited: isAwaited(plan, mapping),
    source: new StreamEventSource({
      dynamodb,
      streams,
      mapping,
      checkpoints:
        options.dataDir === undefined
          ? new Map<string, string>()
          : fileCheckpoints(join(options.dataDir, 'streams', `${mapping.id}.json`)),
      invoke: (event) => options.invoke(mapping.functionName, event),
      giveUp: async (message) => {
        if (mapping.onFailureQueue !== undefined) await options.giveUp(mapping.onFailureQueue, message);
      },
      log,
      ...(isAwaited(plan, mapping) && { pollMs: POLL_AWAITED_MS }),
    }),
  }));
  return {
    async caughtUp(timeoutMs) {
      const awaited = tables.flatMap(({ isAwaited, source }) => (isAwaited ? [source.caughtUp(timeoutMs)] : []));
      return (await Promise.all(awaited)).every(Boolean);
    },
    async stop() {
      const drained = Promise.all([...queues, ...tables.map(({ source }) => source)].map((source) => source.stop()));
      let timer: NodeJS.Timeout | undefined;
      const enough = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, DRAIN_MS);
      });
      await Promise.race([drained, enough]);
      clearTimeout(timer);
    },
  };
}
