import { rmSync } from 'node:fs';
import type { Deployment } from '../../adapters/deployment/deployment.ts';
import { CHANNELS, type Channel, type Lane } from '../../core/model/channels.ts';
import { LOCAL_REGION } from '../emulator/template/references.ts';
import { type Json, objectAt, textAt } from '../support/json.ts';
import { readLeft } from '../support/running.ts';

/** What clients need to know of a running runtime. Keys are added, never removed. */
export interface Endpoints {
  readonly pid: number;
  readonly region: string;
  readonly endpoints: {
    readonly dynamodb: string;
    readonly sqs: string;
    readonly ses: string;
    /** The service's API (`/v1/…`) and Lambda's Invoke API. */
    readonly api: string;
    readonly console: string;
    readonly simulator: string;
    /** `GET` lists what producers were told: `{"outcomes":[…]}`. */
    readonly outcomes: string;
  };
  readonly tables: Deployment['tables'] & { readonly data_keys: string };
  /** Queue URLs. */
  readonly queues: Readonly<Record<Channel, Readonly<Record<Lane | 'dead_letter', string>>>>;
  /** Function names by service: `dispatcher`, `due-indexer`, `send-email`, … */
  readonly functions: Readonly<Record<string, string>>;
  /** The stack's outputs. */
  readonly stack: Readonly<Record<string, string>>;
  readonly logs: string;
  /** File with the credentials by integration_config_id, and the local keys. */
  readonly secrets_file: string;
}

/** @throws Error that names the output which is missing or cannot be parsed */
export function describeRuntime(
  outputs: Readonly<Record<string, string>>,
  rest: Pick<Endpoints, 'endpoints' | 'functions' | 'logs' | 'secrets_file'>,
): Endpoints {
  const output = (name: string) => textAt(outputs[name], `the stack's output ${name}`);
  // A stage without newsletters or API has none of their tables.
  const table = (name: string, key: string) => (outputs[name] === undefined ? {} : { [key]: output(name) });
  const lanes = objectAt(parse(output('LaneQueues')), "the stack's output LaneQueues");
  const deadLetters = objectAt(parse(output('DeadLetterQueues')), "the stack's output DeadLetterQueues");
  const queues = (channel: Channel) => {
    const lane = objectAt(lanes[channel], `LaneQueues.${channel}`);
    return {
      express: textAt(lane['express'], `LaneQueues.${channel}.express`),
      standard: textAt(lane['standard'], `LaneQueues.${channel}.standard`),
      dead_letter: textAt(deadLetters[channel], `DeadLetterQueues.${channel}`),
    };
  };
  return {
    pid: process.pid,
    region: LOCAL_REGION,
    tables: {
      notification_log: output('NotificationLogTable'),
      notification_content: output('NotificationContentTable'),
      notification_retry_log: output('NotificationRetryLogTable'),
      pipeline_state: output('PipelineStateTable'),
      ...table('ApiKeysTable', 'api_keys'),
      ...table('NewslettersTable', 'newsletters'),
      ...table('MembersTable', 'members'),
      ...table('EmailsTable', 'emails'),
      ...table('EmailBatchesTable', 'email_batches'),
      ...table('EmailRecipientsTable', 'email_recipients'),
      data_keys: output('DataKeysTable'),
      audit: output('AuditTable'),
    } as Endpoints['tables'],
    queues: Object.fromEntries(
      CHANNELS.filter((channel) => lanes[channel] !== undefined).map((channel) => [channel, queues(channel)]),
    ) as Endpoints['queues'],
    stack: outputs,
    ...rest,
  };
}

/** Removes the file, unless another runtime has replaced it. */
export function removeEndpoints(path: string): void {
  if (readLeft<{ readonly pid?: unknown }>(path, {}).pid === process.pid) rmSync(path, { force: true });
}

const parse = (text: string): Json => JSON.parse(text);
