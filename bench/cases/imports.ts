import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { CHANNELS } from '../../src/core/model/channels.ts';
import { functionEnvironment } from '../../src/local/emulator/lambda/environment.ts';
import { pinnedNode } from '../../src/local/processes/pinned-node.ts';
import { prepareSecrets } from '../../src/local/runtime/secrets-file.ts';
import type { Benchmark } from '../benchmark.ts';
import { bundle } from '../setup/bundle.ts';
import { deployedFunctions } from '../setup/deployed-functions.ts';

const run = promisify(execFile);
const ROUNDS = 9;
/** A text, because for a TypeScript file Node would load its type stripper beside the import. */
const PROGRAM =
  'const t = performance.now(); await import(process.argv[1]); console.log(performance.now() - t); process.exit(0);';
/** An import calls no service, so the endpoints lead nowhere. */
const NOWHERE = 'http://127.0.0.1:9';
const SERVICES = { dynamodb: NOWHERE, sqs: NOWHERE, ses: NOWHERE, lambda: NOWHERE, simulator: NOWHERE };

/** Design §9: the time that a cold start loads code. Each import runs in its own process; the bundles take turns. */
export const imports: Benchmark = {
  name: 'imports',
  describes: 'import time of the channel functions, against the DynamoDB client alone',
  async run(context) {
    context.step('imports: bundling what they are compared with');
    const client = await bundle('bench/variants/dynamodb-only.ts', context.home);
    const plain = await bundle('bench/plain/plain-worker.ts', context.home);
    const secretsFile = join(context.home, 'import-secrets.json');
    prepareSecrets(secretsFile, NOWHERE);
    const deployed = deployedFunctions(context.stack);
    const environmentOf = (service: string) => functionEnvironment(deployed.planOf(service), SERVICES, { secretsFile });
    const candidates = [
      { name: 'client', path: client, environment: environmentOf('send-webhook') },
      { name: 'plain', path: plain, environment: environmentOf('send-webhook') },
      ...CHANNELS.map((channel) => ({
        name: channel,
        path: deployed.bundleOf(`send-${channel}`),
        environment: environmentOf(`send-${channel}`),
      })),
    ];
    const times = new Map<string, number[]>();
    for (let round = 0; round < ROUNDS; round++) {
      context.step(`imports: round ${round + 1} of ${ROUNDS}`);
      for (const { name, path, environment } of candidates) {
        times.set(name, [...(times.get(name) ?? []), await importTime(path, environment)]);
      }
    }
    const timesOf = (name: string) => times.get(name) ?? [];
    // Other work of the machine can only increase the time, so the least value is the best.
    const least = (name: string) => Math.min(...timesOf(name));
    const againstClient = (name: string) => least(name) / least('client');
    return CHANNELS.map((channel) => ({
      id: `import_time.${channel}`,
      what: `import of send-${channel}, against the DynamoDB client alone`,
      figure: againstClient(channel),
      unit: '×',
      budget: { max: 1.5 },
      plain: againstClient('plain'),
      note: `least of ${ROUNDS} rounds, of both`,
      details: { ms: least(channel), 'ms of the client alone': least('client') },
    }));
  },
};

/** Milliseconds. */
async function importTime(path: string, env: Record<string, string>): Promise<number> {
  const { stdout } = await run(pinnedNode(), ['--input-type=module', '--eval', PROGRAM, pathToFileURL(path).href], {
    env,
  });
  const ms = Number(stdout.trim().split('\n').at(-1));
  if (!Number.isFinite(ms)) throw new Error(`The import of ${path} printed no time but: ${stdout.slice(0, 200)}`);
  return ms;
}
