import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { CHANNELS } from '../../src/core/model/channels.ts';
import { functionEnvironment } from '../../src/local/emulator/lambda/environment.ts';
import { pinnedNode } from '../../src/local/processes/pinned-node.ts';
import { prepareSecrets } from '../../src/local/runtime/secrets-file.ts';
import type { Benchmark } from '../benchmark.ts';
import { bundle, bundleSize } from '../setup/bundle.ts';
import { deployedFunctions } from '../setup/deployed-functions.ts';
import { median } from '../statistics.ts';

const MEGABYTE = 1_000_000;

/**
 * Budget (docs/architecture.md): the size that Lambda fetches at a cold start, including code that may be loaded later.
 */
export const bundles: Benchmark = {
  name: 'bundles',
  describes: 'size of the channel functions’ bundles',
  async run(context) {
    context.step('bundles: the plain reading’s');
    const deployed = deployedFunctions(context.stack);
    const plain = bundleSize(await bundle('bench/plain/plain-worker.ts', context.home)) / MEGABYTE;
    return CHANNELS.map((channel) => ({
      id: `bundle_size.${channel}`,
      what: `bundle of send-${channel}, minified`,
      figure: bundleSize(deployed.bundleOf(`send-${channel}`)) / MEGABYTE,
      unit: 'MB',
      budget: { max: 1.2 },
      plain,
    }));
  },
};

const run = promisify(execFile);
const ROUNDS = 11;
/**
 * A text, because for a TypeScript file Node would load its type stripper beside the import. It prints CPU time, of
 * which a cold start has little, and which other work of the machine does not lengthen.
 */
const PROGRAM =
  'const before = process.cpuUsage(); await import(process.argv[1]); const { user, system } = process.cpuUsage(before); console.log((user + system) / 1000); process.exit(0);';
/** An import calls no service, so the endpoints lead nowhere. */
const NOWHERE = 'http://127.0.0.1:9';
const SERVICES = { dynamodb: NOWHERE, sqs: NOWHERE, ses: NOWHERE, lambda: NOWHERE, simulator: NOWHERE };

interface Imported {
  readonly ms: number;
  /** To the client's imports right before and after, because the speed of a machine changes within seconds. */
  readonly ratio: number;
}

/**
 * Budget (docs/architecture.md): the CPU time that a cold start needs to load code. Each import runs in its own
 * process; the bundles take turns.
 */
export const imports: Benchmark = {
  name: 'imports',
  describes: 'import of every function, in CPU time, against the DynamoDB client alone',
  async run(context) {
    context.step('imports: bundling what they are compared with');
    const client = await bundle('bench/variants/dynamodb-only.ts', context.home);
    const plain = await bundle('bench/plain/plain-worker.ts', context.home);
    const secretsFile = join(context.home, 'import-secrets.json');
    prepareSecrets(secretsFile, NOWHERE);
    const deployed = deployedFunctions(context.stack);
    const environmentOf = (service: string) => functionEnvironment(deployed.planOf(service), SERVICES, { secretsFile });
    const services = deployed.services();
    const candidates = [
      { name: 'plain', path: plain, environment: environmentOf('send-webhook') },
      ...services.map((service) => ({
        name: service,
        path: deployed.bundleOf(service),
        environment: environmentOf(service),
      })),
    ];
    const importClient = () => importTime(client, environmentOf('send-webhook'));
    const imported = new Map<string, Imported[]>();
    const clientTimes = [await importClient()];
    for (let round = 0; round < ROUNDS; round++) {
      context.step(`imports: round ${round + 1} of ${ROUNDS}`);
      for (const { name, path, environment } of candidates) {
        const before = clientTimes.at(-1) ?? Number.NaN;
        const ms = await importTime(path, environment);
        const after = await importClient();
        clientTimes.push(after);
        imported.set(name, [...(imported.get(name) ?? []), { ms, ratio: ms / ((before + after) / 2) }]);
      }
    }
    const againstClient = (name: string) => median((imported.get(name) ?? []).map(({ ratio }) => ratio));
    return services.map((service) => ({
      id: `import_time.${service.replace(/^send-/, '')}`,
      what: `import of ${service}, against the DynamoDB client alone`,
      figure: againstClient(service),
      unit: '×',
      budget: { max: 1.4 },
      plain: againstClient('plain'),
      note: `median of ${ROUNDS} rounds`,
      details: {
        ms: median((imported.get(service) ?? []).map(({ ms }) => ms)),
        'ms of the client alone': median(clientTimes),
      },
    }));
  },
};

/** Milliseconds of CPU. */
async function importTime(path: string, env: Record<string, string>): Promise<number> {
  const { stdout } = await run(pinnedNode(), ['--input-type=module', '--eval', PROGRAM, pathToFileURL(path).href], {
    env,
  });
  const ms = Number(stdout.trim().split('\n').at(-1));
  if (!Number.isFinite(ms)) throw new Error(`The import of ${path} printed no time but: ${stdout.slice(0, 200)}`);
  return ms;
}
