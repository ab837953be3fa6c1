import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { functionEnvironment } from '../../src/local/emulator/lambda/environment.ts';
import { pinnedNode } from '../../src/local/processes/pinned-node.ts';
import { prepareSecrets } from '../../src/local/runtime/secrets-file.ts';
import type { Benchmark } from '../benchmark.ts';
import { bundle } from '../setup/bundle.ts';
import { deployedFunctions } from '../setup/deployed-functions.ts';
import { median } from '../statistics.ts';

const run = promisify(execFile);
const ROUNDS = 9;
/**
 * A text, because for a TypeScript file Node would load its type stripper beside the import. It prints CPU time, of
 * which a cold start has little, and which other work of the machine does not lengthen.
 */
const PROGRAM =
  'const before = process.cpuUsage(); await import(process.argv[1]); const { user, system } = process.cpuUsage(before); console.log((user + system) / 1000); process.exit(0);';
/** An import calls no service, so the endpoints lead nowhere. */
const NOWHERE = 'http://127.0.0.1:9';
const SERVICES = { dynamodb: NOWHERE, sqs: NOWHERE, ses: NOWHERE, lambda: NOWHERE, simulator: NOWHERE };

/** Design §9: the CPU time that a cold start needs to load code. Each import runs in its own process; the bundles take turns. */
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
      { name: 'client', path: client, environment: environmentOf('send-webhook') },
      { name: 'plain', path: plain, environment: environmentOf('send-webhook') },
      ...services.map((service) => ({
        name: service,
        path: deployed.bundleOf(service),
        environment: environmentOf(service),
      })),
    ];
    const times = new Map<string, number[]>();
    for (let round = 0; round < ROUNDS; round++) {
      context.step(`imports: round ${round + 1} of ${ROUNDS}`);
      for (const { name, path, environment } of candidates) {
        times.set(name, [...(times.get(name) ?? []), await importTime(path, environment)]);
      }
    }
    const clientTimes = times.get('client') ?? [];
    // Against the client's import of the same round, so that a slow minute of the machine counts for both.
    const againstClient = (name: string) =>
      median((times.get(name) ?? []).map((time, round) => time / (clientTimes[round] ?? Number.NaN)));
    return services.map((service) => ({
      id: `import_time.${service.replace(/^send-/, '')}`,
      what: `import of ${service}, against the DynamoDB client alone`,
      figure: againstClient(service),
      unit: '×',
      budget: { max: 1.4 },
      plain: againstClient('plain'),
      note: `median of ${ROUNDS} rounds`,
      details: { ms: median(times.get(service) ?? []), 'ms of the client alone': median(clientTimes) },
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
