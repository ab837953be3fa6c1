import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { CHANNELS, type Channel } from '../../core/model/channels.ts';
import { HistoryUnavailableError } from '../../core/operator/views/outcome-series.ts';
import { pidExists } from '../../processes/process-identity.ts';
import { createLogHistory } from '../metric-history/log-history.ts';
import { createLocalKeyWrap } from '../sealing/data-keys.ts';
import { createIntegrationCredentials } from '../secrets/integration-credentials.ts';
import { createSecretsFileSource, FILE_INTEGRATION_PREFIX } from '../secrets/secret-source.ts';
import { type Deployment, DeploymentNotFoundError } from './deployment.ts';
import { openSealer } from './deployment-clients.ts';
import {
  LACKS,
  ofStage,
  PART_TABLE_OUTPUTS,
  SETTING_OUTPUTS,
  settingsIn,
  TABLE_OUTPUTS,
  tablesOf,
} from './stage-parts.ts';

const text = v.pipe(v.string(), v.minLength(1));
const namesIn = <K extends string>(of: Readonly<Record<K, string>>) => Object.keys(of) as K[];
const queues = v.object({ express: text, standard: text, dead_letter: text });

/** The part of `.local/endpoints.json` (a contract: fields are added, never renamed) that a command needs. */
const endpointsFile = v.object({
  pid: v.number(),
  region: text,
  endpoints: v.looseObject({
    dynamodb: text,
    sqs: text,
    api: text,
    ses: v.optional(text),
    simulator: v.optional(text),
  }),
  tables: v.object({
    ...v.entriesFromList(namesIn(TABLE_OUTPUTS), text),
    ...v.entriesFromList(namesIn(PART_TABLE_OUTPUTS), v.optional(text)),
    data_keys: text,
  }),
  queues: v.object(v.entriesFromList(CHANNELS, v.optional(queues))),
  stack: v.object(SETTING_OUTPUTS),
  /** Absent in the file of an older runtime. */
  functions: v.optional(v.looseObject({ reconciler: v.optional(text) }), {}),
  secrets_file: text,
  /** Absent in the file of an older runtime. */
  logs: v.optional(text),
});

const START = 'Start it with: npm run local';

/** By the file that a running local runtime writes. @throws DeploymentNotFoundError when none is running */
export async function findLocalDeployment(root: string): Promise<Deployment> {
  const path = join(root, '.local', 'endpoints.json');
  const file = await readEndpoints(path);
  if (!pidExists(file.pid)) {
    throw new DeploymentNotFoundError(`The local runtime that wrote ${path} (pid ${file.pid}) is gone. ${START}`);
  }
  return deploymentOf(file);
}

/** Of a runtime of this process, by what it writes to its endpoints file. @throws DeploymentNotFoundError */
export function ownLocalDeployment(endpoints: object): Deployment {
  return deploymentOf(parseEndpoints(endpoints, 'The description of the runtime'));
}

function deploymentOf(file: v.InferOutput<typeof endpointsFile>): Deployment {
  const { region, endpoints, tables } = file;
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const perChannel = <T>(pick: (urls: v.InferOutput<typeof queues>) => T): { [C in Channel]?: T } =>
    Object.fromEntries(Object.entries(file.queues).flatMap(([channel, urls]) => (urls ? [[channel, pick(urls)]] : [])));
  const secret = async (name: string) => {
    const value = await createSecretsFileSource(file.secrets_file).get(name);
    if (value === undefined) throw new DeploymentNotFoundError(`${file.secrets_file} has no ${name}.`);
    return value;
  };
  return {
    tables: tablesOf(tables),
    lane_queues: perChannel(({ express, standard }) => ({ express, standard })),
    dead_letter_queues: ofStage(
      CHANNELS,
      perChannel(({ dead_letter }) => dead_letter),
      LACKS.channel,
    ),
    ...settingsIn(file.stack),
    secrets_file: file.secrets_file,
    metricHistory: async () => {
      if (file.logs !== undefined) return createLogHistory(file.logs);
      throw new HistoryUnavailableError(
        'The runtime does not say where its logs are.',
        'Start the local runtime again.',
      );
    },
    recipientHashKey: () => secret('recipient_hash_key'),
    integrations: async () =>
      createIntegrationCredentials(createSecretsFileSource(file.secrets_file), { prefix: FILE_INTEGRATION_PREFIX }),
    sealer: openSealer(
      createLocalKeyWrap(async () => Buffer.from(await secret('recipient_key'), 'base64')),
      tables.data_keys,
    ),
    api: endpoints.api,
    ...(file.functions.reconciler !== undefined && { reconciler: file.functions.reconciler }),
    caughtUp: () => askCaughtUp(endpoints.api),
    clients: {
      dynamodb: { endpoint: endpoints.dynamodb, region, credentials },
      sqs: { endpoint: endpoints.sqs, region, credentials },
      lambda: { endpoint: endpoints.api, region, credentials },
      ...(endpoints.simulator !== undefined && {
        eventbridge: { endpoint: `${endpoints.simulator}/eventbridge`, region, credentials },
      }),
      ...(endpoints.ses !== undefined && { ses: { endpoint: endpoints.ses, region, credentials } }),
    },
  };
}

/** The runtime answers after ten seconds at the latest. */
const CAUGHT_UP_TIMEOUT_MS = 15_000;
const caughtUpAnswer = v.object({ caught_up: v.boolean() });

async function askCaughtUp(api: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(CAUGHT_UP_TIMEOUT_MS);
    const answer = await fetch(new URL('/_caught_up', api), { signal });
    return answer.ok && v.parse(caughtUpAnswer, await answer.json()).caught_up;
  } catch {
    // The caller's next request reports what is wrong with the runtime, and in more detail.
    return false;
  }
}

async function readEndpoints(path: string): Promise<v.InferOutput<typeof endpointsFile>> {
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch (cause) {
    throw new DeploymentNotFoundError(`No local runtime is running: there is no ${path}. ${START}`, { cause });
  }
  return parseEndpoints(content, path);
}

function parseEndpoints(content: unknown, where: string): v.InferOutput<typeof endpointsFile> {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), endpointsFile), text);
  if (parsed.success) return parsed.output;
  const faults = parsed.issues.map((issue) => `${v.getDotPath(issue) ?? 'file'}: ${issue.message}`).join('; ');
  throw new DeploymentNotFoundError(`${where} is malformed (${faults}). Stop the local runtime and start it again.`);
}
