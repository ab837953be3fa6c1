import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { awsClients } from '../../../src/local/emulator/aws-clients.ts';
import { readAssembly } from '../../../src/local/emulator/template/assembly.ts';
import { planFrom } from '../../../src/local/emulator/template/plan.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from '../../../src/local/emulator/template/references.ts';
import { Teardown } from '../../../src/local/processes/teardown.ts';
import type { Endpoints } from '../../../src/local/runtime/endpoints-file.ts';
import { overridesFrom, runFunctions } from '../../../src/local/runtime/run-functions.ts';
import { queueUrl } from '../../../src/local/stand-ins/tables-and-queues.ts';
import { fileLog } from '../../../src/local/support/running.ts';

/**
 * Runs the functions of another synthesized version on the tables and queues of a running runtime, beside its own, as
 * they run while a deployment replaces one function after the other: `run-former-workers.ts ASSEMBLY ENDPOINTS HOME
 * BASE_INTERVAL`. They read every event source that the runtime's functions read, streams from where HOME says, and
 * have every schedule but the sweep's.
 */
const [assembly = '', endpointsFile = '', home = '', base = ''] = process.argv.slice(2);
const { endpoints, secrets_file }: Endpoints = JSON.parse(readFileSync(endpointsFile, 'utf8'));
const { dynamodb, sqs, ses, simulator, api } = endpoints;
const plan = planFrom(readAssembly(assembly), { region: LOCAL_REGION, accountId: LOCAL_ACCOUNT, sqsEndpoint: sqs });
const clients = awsClients(dynamodb, sqs);
const teardown = new Teardown();
const send = async (queue: string, body: string) => {
  await clients.sqs.send(new SendMessageCommand({ QueueUrl: queueUrl(sqs, queue), MessageBody: body }));
};
const { invoke, byService } = runFunctions({
  stack: { plan, clients, send },
  services: { dynamodb, sqs, ses, simulator, lambda: api },
  overrides: overridesFrom({ baseIntervalSeconds: Number(base) }, 'off', secrets_file),
  sweep: 'off',
  directories: { workDir: home, dataDir: home, home, logs: home },
  standInPids: [],
  log: fileLog(join(home, 'former-workers.log')),
  signal: undefined,
  teardown,
});
process.once('SIGTERM', () => void teardown.run().then(() => process.exit(0)));
// A sweep of the former dispatcher.
process.on('message', () => void invoke(byService['dispatcher'] ?? '', '{}')?.then((result) => process.send?.(result)));
process.send?.('ready');
