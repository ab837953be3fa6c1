import { execFile } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { CHANNELS } from '../../../src/core/model/channels.ts';
import { functionEnvironment } from '../../../src/local/emulator/lambda/environment.ts';
import { pinnedNode } from '../../../src/local/processes/start-child.ts';
import { SAMPLE_INTEGRATIONS } from '../../../src/local/runtime/secrets-file.ts';
import type { Benchmark } from '../benchmark.ts';
import { inTurns, median } from '../figure.ts';
import { bundlePlain, deployedFunctions, tableNames } from '../setup/function.ts';
import { BATCH, eventsFor, standardLane } from '../setup/lanes.ts';
import { bodyOf, seedDue } from '../setup/rows.ts';
import { inWorld, type World } from '../setup/world.ts';
import { requests } from './intake.ts';

/**
 * Budget (docs/architecture.md): the size that Lambda fetches at a cold start, including code that may be loaded later.
 */
export const bundles: Benchmark = {
  name: 'bundles',
  describes: 'size of the channel functions’ bundles',
  async run(context) {
    context.step('bundles: the plain reading’s');
    const deployed = deployedFunctions(context.stack);
    const plain = megabytesOf(await bundlePlain('plain-worker', context.home));
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

const ROUNDS = 11;
/**
 * A text, because for a TypeScript file Node would load its type stripper beside the import. It prints CPU time, of
 * which a cold start has little, and which other work of the machine does not lengthen.
 */
const PROGRAM = `
const before = process.cpuUsage();
const used = () => { const { user, system } = process.cpuUsage(before); return (user + system) / 1000; };
const [, path, event] = process.argv;
const { handler } = await import(path);
const imported = used();
const context = { awsRequestId: 'first', getRemainingTimeInMillis: () => 60_000 };
const answer = event && (await handler(JSON.parse(event), context));
if (answer?.batchItemFailures?.length > 0 || answer?.statusCode >= 300) throw new Error('The first event failed');
console.log(JSON.stringify([imported, used()]));
process.exit(0);`;

/**
 * Budget (docs/architecture.md): the CPU time that a cold start needs to load code, and beside it with the first event,
 * for which more is loaded, connected and read. Each import runs in its own process; the bundles take turns.
 */
export const imports: Benchmark = {
  name: 'imports',
  describes: 'import of every function, in CPU time, against the DynamoDB client alone, and its first event',
  run: (context) =>
    inWorld(context, async (world) => {
      context.step('imports: bundling what they are compared with');
      const [client, get, plain] = await Promise.all(
        ['dynamodb-only', 'get-item', 'plain-worker'].map((name) => bundlePlain(name, context.home)),
      );
      const firstEvents = await firstEventsOf(world);
      const coldStart = async (path = '', service = 'send-webhook', event?: object) => {
        const { services, secretsFile } = world;
        const env = functionEnvironment(world.planOf(service), services, { secretsFile });
        const program = ['--input-type=module', '--eval', PROGRAM, pathToFileURL(path).href];
        const args = event === undefined ? program : [...program, JSON.stringify(event)];
        const { stdout } = await promisify(execFile)(pinnedNode(), args, { env });
        return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as [imported: number, answered: number];
      };
      const clientTimes = [(await coldStart(client))[0]];
      const besideClient = async (...start: Parameters<typeof coldStart>) => {
        const before = clientTimes.at(-1) ?? Number.NaN;
        const [ms, answered] = await coldStart(...start);
        const [after] = await coldStart(client);
        clientTimes.push(after);
        // To the client's imports right before and after, because the speed of a machine changes within seconds.
        return { ms, answered, ratio: ms / ((before + after) / 2) };
      };
      const lookUp = { table: tableNames(world).notification_log, log_id: 'none' };
      const candidates: Record<string, (round: number) => ReturnType<typeof besideClient>> = {
        plain: () => besideClient(plain),
        'get-item': () => besideClient(get, 'send-webhook', lookUp),
      };
      for (const name of world.names) {
        candidates[name] = (round) => besideClient(world.bundleOf(name), name, firstEvents[name]?.[round]);
      }
      const cold = await inTurns(candidates, { rounds: ROUNDS, step: (round) => context.step(`imports: ${round}`) });
      const of = (name: string, figure: 'ms' | 'ratio' | 'answered') =>
        median((cold[name] ?? []).map((start) => start[figure]));
      return world.names.map((service) => ({
        id: `import_time.${service.replace(/^send-/, '')}`,
        what: `import of ${service}, against the DynamoDB client alone`,
        figure: of(service, 'ratio'),
        unit: '×',
        budget: { max: 1.4 },
        plain: of('plain', 'ratio'),
        note: `median of ${ROUNDS} rounds`,
        details: {
          ms: of(service, 'ms'),
          ...(firstEvents[service] && { 'ms with the first event': of(service, 'answered') }),
          'ms of the client alone': median(clientTimes),
          'ms of the client with a GetItem': of('get-item', 'answered'),
        },
      }));
    }),
};

/** An event for each round: ten notifications to a sender, a sweep that finds them queued, a notification to the API. */
async function firstEventsOf(world: World): Promise<Readonly<Record<string, readonly object[]>>> {
  const shape = { channel: 'webhook', recipient: `${world.receiver.url}/ok`, body: bodyOf(1024) } as const;
  const items = await seedDue(world, ROUNDS * BATCH, { ...shape, integration: SAMPLE_INTEGRATIONS.webhook });
  return {
    'send-webhook': eventsFor(items, standardLane(world, 'send-webhook').arn, BATCH),
    dispatcher: Array.from({ length: ROUNDS }, () => ({})),
    'api-intake': requests(world, 'first', ROUNDS, 1),
  };
}
