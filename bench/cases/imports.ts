import { execFile } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { CHANNELS } from '../../src/core/model/channels.ts';
import { functionEnvironment } from '../../src/local/emulator/lambda/environment.ts';
import { pinnedNode } from '../../src/local/processes/pinned-node.ts';
import { prepareSecrets } from '../../src/local/runtime/secrets-file.ts';
import type { Benchmark } from '../benchmark.ts';
import { median } from '../figure.ts';
import { bundle, deployedFunctions } from '../setup/function.ts';
import { NOWHERE, SERVICES_NOWHERE } from '../setup/world.ts';

/**
 * Budget (docs/architecture.md): the size that Lambda fetches at a cold start, including code that may be loaded later.
 */
export const bundles: Benchmark = {
  name: 'bundles',
  describes: 'size of the channel functions’ bundles',
  async run(context) {
    context.step('bundles: the plain reading’s');
    const deployed = deployedFunctions(context.stack);
    const plain = megabytesOf(await bundle('bench/plain/plain-worker.ts', context.home));
    return CHANNELS.map((channel) => ({
      id: `bundle_size.${channel}`,
      what: `bundle of send-${channel}, minified`,
      figure: megabytesOf(deployed.bundleOf(`send-${channel}`)),
      unit: 'MB',
      budget: { max: 1.2 },
      plain,
    }));
  },
};

function megabytesOf(entry: string): number {
  const directory = dirname(entry);
  return readdirSync(directory).reduce((bytes, name) => bytes + statSync(join(directory, name)).size, 0) / 1e6;
}

const run = promisify(execFile);
const ROUNDS = 11;
/**
 * A text, because for a TypeScript file Node would load its type stripper beside the import. It prints CPU time, of
 * which a cold start has little, and which other work of the machine does not lengthen.
 */
const PROGRAM =
  'const before = process.cpuUsage(); await import(process.argv[1]); const { user, system } = process.cpuUsage(before); console.log((user + system) / 1000); process.exit(0);';

/**
 * Budget (docs/architecture.md): the CPU time that a cold start needs to load code. Each import runs in its own
 * process; the bundles take turns.
 */
export const imports: Benchmark = {
  name: 'imports',
  describes: 'import of every function, in CPU time, against the DynamoDB client alone',
  async run(context) {
    context.step('imports: bundling what they are compared with');
    const client = await bundle('bench/plain/dynamodb-only.ts', context.home);
    const plain = await bundle('bench/plain/plain-worker.ts', context.home);
    const secretsFile = join(context.home, 'import-secrets.json');
    prepareSecrets(secretsFile, NOWHERE);
    const deployed = deployedFunctions(context.stack);
    // An import calls no service, so the endpoints lead nowhere.
    const importOf = (path: string, service: string) =>
      importTime(path, functionEnvironment(deployed.planOf(service), SERVICES_NOWHERE, { secretsFile }));
    const services = deployed.names();
    const candidates = [
      { name: 'plain', run: () => importOf(plain, 'send-webhook') },
      ...services.map((name) => ({ name, run: () => importOf(deployed.bundleOf(name), name) })),
    ];
    const imported = new Map(candidates.map(({ name }) => [name, { ms: [] as number[], ratio: [] as number[] }]));
    const clientTimes = [await importOf(client, 'send-webhook')];
    for (let round = 0; round < ROUNDS; round++) {
      context.step(`imports: round ${round + 1} of ${ROUNDS}`);
      for (const { name, run } of candidates) {
        const before = clientTimes.at(-1) ?? Number.NaN;
        const ms = await run();
        const after = await importOf(client, 'send-webhook');
        clientTimes.push(after);
        imported.get(name)?.ms.push(ms);
        // To the client's imports right before and after, because the speed of a machine changes within seconds.
        imported.get(name)?.ratio.push(ms / ((before + after) / 2));
      }
    }
    const of = (name: string, figure: 'ms' | 'ratio') => median(imported.get(name)?.[figure] ?? []);
    return services.map((service) => ({
      id: `import_time.${service.replace(/^send-/, '')}`,
      what: `import of ${service}, against the DynamoDB client alone`,
      figure: of(service, 'ratio'),
      unit: '×',
      budget: { max: 1.4 },
      plain: of('plain', 'ratio'),
      note: `median of ${ROUNDS} rounds`,
      details: { ms: of(service, 'ms'), 'ms of the client alone': median(clientTimes) },
    }));
  },
};

/** Milliseconds of CPU. */
async function importTime(path: string, env: Record<string, string>): Promise<number> {
  const args = ['--input-type=module', '--eval', PROGRAM, pathToFileURL(path).href];
  const { stdout } = await run(pinnedNode(), args, { env });
  const ms = Number(stdout.trim().split('\n').at(-1));
  if (!Number.isFinite(ms)) throw new Error(`The import of ${path} printed no time but: ${stdout.slice(0, 200)}`);
  return ms;
}
